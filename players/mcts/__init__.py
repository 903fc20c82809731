"""Monte Carlo tree search, over compiled rules or plain Python.

`tree` is the search tree, `selection` the rules that choose a child, `simulate` the compiled loop,
`worker` one tree with its thread, `searcher` the base class of the players. `analysis` reads
results out of the trees, `pruning` frees memory, `proofs` is a table of proven positions.
"""
