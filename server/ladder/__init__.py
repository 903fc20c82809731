"""Ladders: rated matches of a game without end. No I/O, no timers, no storage.

`state` has the versions of accounts on a ladder and their results, and finds the match that is due:
the second match of a pair, or a new pair. `pairing` selects the two players and the openings of new
pairs. All versions are rated together by `playout.ratings.bradley_terry`. `standings` orders them,
and compares each version with the one before.

docs/ladder.md explains ladders to users.
"""
