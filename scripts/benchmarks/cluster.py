"""Clusters: the overhead of Dask for a tournament and for a training, over the same without it.

The same two players play the same schedule with 10 ms a move, one match per core at once: without
Dask, and with `--dask local`, where each worker has a core. Both take turns in the same run, so
that other work on the machine affects both. Searches by the clock end at different moments, and so
the matches have different lengths: the table compares the time per second of thinking.

Both trainings train a net for 6x6 four in a row on this machine, with a process for self-play on
each core, and learn the same number of samples in the same steps between the rounds. So after equal
rounds the nets differ by chance only. The two take turns. The scheduler and each worker have a
process, as on a real cluster. The first round does not count: it includes the start of the
processes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from benchmarks.tournament import THINKING_S, play_two
from benchmarks.workers import local_cluster
from playout.commands.cores import usable_cores
from playout.players.training.run_folder import NetRound, RunFolder
from playout.server.model.records import StoredMatch
from testbed.bench import Bench, Column, ResultTable, Target
from testbed.killed_tournament import start_tournament
from testbed.measure import (
    Sample,
    alternate,
    lost_on_time,
    overhead,
    simulations,
    span_s,
    thinking_s,
)

OVERHEAD = Target("ratio", at_most=1.05)
TOURNAMENT = (
    Column("place", "entrants on"),
    Column("matches", "matches"),
    Column("wall_s", "wall, s", ".1f"),
    Column("spent", "wall per thinking", ".3f"),
    Column("ratio", "ratio", ".3f"),
    Column("simulations", "simulations/s"),
    Column("on_time", "lost on time"),
)
#: The game of the training.
GAME = "mnk(m=6,n=6,k=4)"
OVERHEAD_OF_TRAINING = Target("ratio", at_most=1.15)
TRAINING = (
    Column("game", "game"),
    Column("rounds", "rounds"),
    Column("own", "own processes, s a round", ".2f"),
    Column("dask", "Dask, s a round", ".2f"),
    Column("own_rate", "own, evaluations/s", ",.0f"),
    Column("dask_rate", "Dask, evaluations/s", ",.0f"),
    Column("ratio", "ratio of the times", ".3f"),
)


def run(bench: Bench) -> list[ResultTable]:
    """Return a table for the tournament, and one for the training."""
    return bench.tables(tournament=_tournament, training=_training)


def _tournament(bench: Bench) -> ResultTable:
    """Return a table with the time of the same tournament on this machine and on Dask."""
    pairs, rounds = bench.pick(50, 10), bench.pick(3, 1)
    here, there = _Place("this machine", pairs), _Place("Dask", pairs, "--dask", "local")
    for _ in bench.track(["both in turns"]):
        spent = alternate(rounds, here=here.play, there=there.play)
    title = f"A tournament at {THINKING_S * 1000:g} ms per move, median of {rounds} rounds"
    table = ResultTable(title, TOURNAMENT)
    for target, place, mine in ((None, here, spent["here"]), (OVERHEAD, there, spent["there"])):
        table.add(target, **place.totals, spent=mine, ratio=mine.over(spent["here"]))
    return table


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


def _training(bench: Bench) -> ResultTable:
    """Return a table with one row: seconds a round without and with Dask."""
    table = ResultTable("A training on a Dask cluster of this machine", TRAINING)
    turns, rounds = bench.pick(3, 1), bench.pick(3, 2)
    taken: dict[str, list[float]] = {"own": [], "dask": []}
    rates: dict[str, list[float]] = {"own": [], "dask": []}
    with (
        tempfile.TemporaryDirectory(prefix="playout-training-") as name,
        local_cluster(usable_cores()) as cluster,
    ):
        options = {"own": (), "dask": ("--dask", cluster.address)}
        for title in bench.track([f"turn {turn + 1}" for turn in range(turns)]):
            for kind, more in options.items():
                records = _train(Path(name, title, kind), rounds, *more)
                taken[kind].append((records[-1].seconds - records[0].seconds) / (rounds - 1))
                rates[kind].append(_rate(records))
    own, dask = Sample(taken["own"]), Sample(taken["dask"])
    table.add(
        OVERHEAD_OF_TRAINING,
        game=GAME,
        rounds=turns * (rounds - 1),
        own=own,
        dask=dask,
        own_rate=Sample(rates["own"]),
        dask_rate=Sample(rates["dask"]),
        ratio=dask.over(own),
    )
    return table


def _train(folder: Path, rounds: int, *more: str) -> list[NetRound]:
    """Train a new net for `rounds` rounds, and return their records."""
    _playout_train("new", GAME, str(folder))
    _playout_train("run", str(folder), "--rounds", str(rounds), *more)
    return [each for each in RunFolder(folder).records() if isinstance(each, NetRound)]


def _rate(records: list[NetRound]) -> float:
    """Return the evaluations per second of self-play, after the first round."""
    return sum(each.evaluations_per_s for each in records[1:]) / (len(records) - 1)


def _playout_train(*words: str) -> None:
    """Run `playout-train` to its end. Raises ClickException with its output if it fails."""
    program = "from playout.commands import entry_points; entry_points.training()"
    command = [sys.executable, "-P", "-c", program, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise click.ClickException(f"playout-train {' '.join(words)}: {done.stdout}{done.stderr}")
