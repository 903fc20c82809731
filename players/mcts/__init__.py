"""How players search, by `rules` that are compiled or plain Python.

Monte Carlo tree search: `tree` is what grows, `loop` grows it, `worker` is a tree and its thread,
`searcher` the player around them. Alpha-beta: `minimax`, with the transpositions in `table`.
"""
