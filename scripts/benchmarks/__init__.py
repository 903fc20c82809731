"""The benchmarks of `scripts/bench`: one file each, found by listing this folder.

A benchmark is a module with a docstring, whose first line is its entry in the list, and a function
`run(bench) -> list[ResultTable]`. Code that they share is in `scripts/testbed`.
"""
