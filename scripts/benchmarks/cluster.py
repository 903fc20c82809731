"""Clusters: the overhead of a tournament on Dask over the same tournament without it.

The same two players play the same schedule with 10 ms a move, one match per core at once: without
Dask, and with `--dask local`, where each worker has a core. Both take turns in the same run, so
that other work on the machine affects both. Searches by the clock end at different moments, and so
the matches have different lengths: compared is the time for each second that the players think.
"""

from __future__ import annotations

import subprocess
from typing import Any

from benchmarks.tournament import THINKING_S, play_two
from playout.commands.cores import usable_cores
from playout.server.model.records import StoredMatch
from testbed.bench import Bench, Column, ResultTable, Target
from testbed.killed_tournament import start_tournament
from testbed.measure import alternate, lost_on_time, overhead, simulations, span_s, thinking_s

OVERHEAD = Target("ratio", at_most=1.05)
COLUMNS = (
    Column("place", "entrants on"),
    Column("matches", "matches"),
    Column("wall_s", "wall, s", ".1f"),
    Column("spent", "wall per thinking", ".3f"),
    Column("ratio", "ratio", ".3f"),
    Column("simulations", "simulations/s"),
    Column("on_time", "lost on time"),
)


def run(bench: Bench) -> list[ResultTable]:
    """Return a table with the time of the same tournament on this machine and on Dask."""
    pairs, rounds = bench.pick(50, 10), bench.pick(3, 1)
    here, there = _Place("this machine", pairs), _Place("Dask", pairs, "--dask", "local")
    for _ in bench.track(["both in turns"]):
        spent = alternate(rounds, here=here.play, there=there.play)
    title = f"A tournament at {THINKING_S * 1000:g} ms per move, median of {rounds} rounds"
    table = ResultTable(title, COLUMNS)
    for target, place, mine in ((None, here, spent["here"]), (OVERHEAD, there, spent["there"])):
        table.add(target, **place.totals, spent=mine, ratio=mine.over(spent["here"]))
    return [table]


class _Place:
    """A place where the tournament is played, by the options that choose it."""

    def __init__(self, name: str, pairs: int, *options: str) -> None:
        self._name = name
        self._pairs = pairs
        self._options = options
        self._matches: list[StoredMatch] = []
        self._wall_s = 0.0

    @property
    def totals(self) -> dict[str, str | float]:
        """The cells of this place, over all rounds."""
        return {
            "place": self._name,
            "matches": len(self._matches),
            "wall_s": self._wall_s,
            "simulations": simulations(self._matches) / thinking_s(self._matches),
            "on_time": lost_on_time(self._matches),
        }

    def play(self) -> float:
        """Play the tournament; return its seconds for each second that a core was thinking."""
        matches = play_two(self._pairs, self._start)
        self._matches += matches
        self._wall_s += span_s(matches)
        return overhead(matches, usable_cores())["ratio"]

    def _start(self, *words: str, **streams: Any) -> subprocess.Popen[bytes]:
        return start_tournament(*words, *self._options, **streams)
