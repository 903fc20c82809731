"""Ladders: rated matches of a game without end. No I/O, no timers, no storage.

`state` knows the versions of accounts on a ladder and their results, and says which match is due:
the second match of a pair, or a new pair by `pairing`. `openings` says where pairs start. `ratings`
rates all versions together, with the model of `playout.ratings.bradley_terry`; `standings` orders
them and `comparison` tells how sure it is that a version is stronger than the one before.

docs/ladder.md explains ladders to users.
"""
