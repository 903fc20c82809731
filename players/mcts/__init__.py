"""Monte Carlo tree search, over compiled rules or plain Python.

`search` is the loop, and a tree with its memory for a thread. Its steps are given by a policy:
`playouts`, or `guided` by a net. `simulation` is what both work with and how results are backed up,
`tree` the nodes, `selection` the rules that choose a child. `searcher` has the base classes of the
players, `analysis` reads results out of the trees.
"""
