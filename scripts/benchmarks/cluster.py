"""Clusters: the overhead of a tournament on Dask over the same tournament without it.

The same two players play the same schedule with 10 ms a move, one match per core at once: without
Dask, and with `--dask local`, where each worker has a core. Both take turns in the same run, so
that whatever else the machine does affects both. Searches by the clock end at different moments,
and so the matches have different lengths: what is compared is the time for each second that the
players think.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.tournament import THINKING_S, TWO
from testbed.bench import Bench, Column, ResultTable, Target
from testbed.killed_tournament import COMMAND, TournamentProcess, run_tournament, stored
from testbed.measure import alternate, lost_on_time, simulations, span_s, thinking_s

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
        cores = len(os.sched_getaffinity(0))
        self._cores = cores
        self._text = TWO.format(game="connect_four", rounds=pairs, cores=cores, seconds=THINKING_S)
        self._start = partial(_start, options)
        self._name = name
        self._matches = self._on_time = self._simulations = 0
        self._wall_s = self._thinking_s = 0.0

    @property
    def totals(self) -> dict[str, str | float]:
        """The cells of this place, over all rounds."""
        return {
            "place": self._name,
            "matches": self._matches,
            "wall_s": self._wall_s,
            "simulations": self._simulations / self._thinking_s,
            "on_time": self._on_time,
        }

    def play(self) -> float:
        """Play the tournament; return its seconds for each second that a core was thinking."""
        with tempfile.TemporaryDirectory(prefix="playout-cluster-") as name:
            folder = Path(name)
            spec, url = folder / "spec.toml", f"sqlite:///{folder / 'tournament.db'}"
            spec.write_text(self._text)
            run_tournament(spec, url, folder / "log", start=self._start)
            matches = stored(url).matches
        wall_s, spent_s = span_s(matches), thinking_s(matches)
        self._matches += len(matches)
        self._on_time += lost_on_time(matches)
        self._simulations += simulations(matches)
        self._wall_s += wall_s
        self._thinking_s += spent_s
        return wall_s / (spent_s / self._cores)


def _start(options: tuple[str, ...], *words: str, **streams: Any) -> TournamentProcess:
    return subprocess.Popen([COMMAND, *words, *options], **streams)
