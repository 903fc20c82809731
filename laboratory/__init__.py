"""The laboratory: is this version of a bot stronger than that one? The command `playout-lab`.

`sources` finds the versions: commits and working trees of git, folders, players. `builds` builds
each once, with the builder of competitions. `journal` counts the candidates against each base, and
`trial` plays a test as a tournament of the format `race`, so that it has the reports, pages and
resumption of tournaments. The conditions are in `lab_file`.
"""
