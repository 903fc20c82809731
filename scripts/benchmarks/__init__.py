"""What `scripts/bench` measures: one file a benchmark, found by looking through this folder.

A benchmark is a module with a docstring, whose first line is its entry in the list, and a function
`run(bench) -> list[Table]`. Modules whose name begins with `_` are what benchmarks are made with.
"""
