"""Monte Carlo tree search, over compiled rules or plain Python.

`tree` is the search tree, `selection` the rules that choose a child. `uct_simulation` and
`puct_simulation` are the compiled loops, with playouts and with a net; `selfplay_search` plays many
games at a time with the latter. `uct_worker` and `puct_worker` are one tree with its memory,
`searcher` has the base classes of the players, `analysis` reads results out of the trees.
"""
