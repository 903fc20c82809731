"""The command `playout-engine`: players of Playout as engines for other programs.

`gtp` and `gomocup` are the two protocols. `line_input` reads what the other program writes, also
while the player thinks; `local_match` is the match that both protocols play.
"""
