"""Additions of integers per second: a benchmark that ends at once."""

from __future__ import annotations

from testbed.bench import Bench, Column, ResultTable
from testbed.measure import rate


def run(bench: Bench) -> list[ResultTable]:
    """Return the rate of one kind of addition."""
    table = ResultTable("Additions", (Column("kind", "kind"), Column("rate", "additions/s")))
    table.add(kind="integers", rate=rate(lambda n: sum(range(n)), bench.pick(0.5, 0.01)))
    return [table]
