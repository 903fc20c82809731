"""Tournaments: what is played, by whom, and what it tells. Nothing here waits, listens or stores.

`spec` is what a tournament is to be. `reading` makes one of a file, with `checks` of its values,
`toml_table` and `toml_lines` to say what is wrong and where, `opening_file`, and `version` for
entrants that are given none.

`schedule` has the words for what is played: *pairs* of matches from one opening with colours
swapped. `formats` say which pairs there are, `openings` what they start from. `contest` is a
tournament as it is held: what has been played of it, and what is due.

From the results, `standings` makes a table of points, `evidence` says of two players which is
stronger and how sure that is, `sprt` when that is known well enough, and `ratings` rates many at
once. `gather` brings all that together, from matches to a `report`, which writes it.

docs/tournaments.md says what it is for, and, in its last section, how these and others meet.
"""
