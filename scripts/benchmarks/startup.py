"""Seconds from the start of a process to the first move of `uct`, against bare imports.

All functions are compiled before, as at every start but the first on a machine. The lower bounds
are a process that imports numba, which compiled rules need, and a process that does nothing.
"""

from __future__ import annotations

import functools
import subprocess
import sys
import time

from testbed.bench import Bench, Column, ResultTable, Target
from testbed.measure import Sample, alternate

FIRST = "first move of uct at connect_four"
FIRST_MOVE = """
from playout import games, players
game = games.load("connect_four")
player = players.load("uct(seed=1)", game)
player.choose(games.Position(game), players.Limit(simulations=100))
"""
PROGRAMS = {
    FIRST: FIRST_MOVE,
    "import numba": "import numba",
    "nothing": "pass",
}
TARGET = Target("seconds", at_most=2.0)

COLUMNS = (
    Column("process", "process"),
    Column("seconds", "seconds", ".3f"),
    Column("times_numba", "times import numba", ".2f"),
)


def run(bench: Bench) -> list[ResultTable]:
    """Return a row per process."""
    table = ResultTable("Seconds from start to end of a process, with everything compiled", COLUMNS)
    measures = {name: functools.partial(seconds_of, program) for name, program in PROGRAMS.items()}
    for measure in measures.values():
        measure()  # compiles functions that are not compiled, and reads files into memory
    titles = [f"round {n + 1}" for n in range(bench.pick(9, 3))]
    rounds = [alternate(1, **measures) for _ in bench.track(titles)]
    taken = {name: Sample(each[name].median for each in rounds) for name in PROGRAMS}
    for name, seconds in taken.items():
        table.add(
            TARGET if name == FIRST else None,
            process=name,
            seconds=seconds,
            times_numba=seconds.over(taken["import numba"]),
        )
    return [table]


def seconds_of(program: str) -> float:
    """Return the seconds that Python takes to run a program."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-P", "-c", program], check=True)
    return time.perf_counter() - started
