"""Tournaments: what is played, by whom, and what it tells. Nothing here waits, listens or stores.

`spec` is what a tournament is to be, as its file says. `schedule` has the words for what is played:
*pairs* of matches from one opening with colours swapped. `formats` say which pairs there are,
`openings` what they start from. From the results, `standings` makes a table of points, `evidence`
says of two players which is stronger and how sure that is, `sprt` when that is known well enough,
and `ratings` rates many at once.
"""
