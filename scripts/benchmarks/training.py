"""Rounds of a training: its own processes, against the workers of a Dask cluster.

Both train a net for 6x6 four in a row on this machine, with a process for self-play on each core,
and learn the same number of samples in the same steps between the rounds. So after equal rounds the
nets differ by chance only. The two take turns. The scheduler and each worker have a process, as on
a real cluster. The first round does not count: it includes the start of the processes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import click

from benchmarks.workers import local_cluster
from playout.commands.cores import usable_cores
from playout.players.training.run_folder import NetRound, RunFolder
from testbed.bench import Bench, Column, ResultTable, Target
from testbed.measure import Sample

GAME = "mnk(m=6,n=6,k=4)"
#: The overhead of a cluster on one machine.
OVERHEAD = Target("ratio", at_most=1.15)

COLUMNS = (
    Column("game", "game"),
    Column("rounds", "rounds"),
    Column("own", "own processes, s a round", ".2f"),
    Column("dask", "Dask, s a round", ".2f"),
    Column("own_rate", "own, evaluations/s", ",.0f"),
    Column("dask_rate", "Dask, evaluations/s", ",.0f"),
    Column("ratio", "ratio of the times", ".3f"),
)


def run(bench: Bench) -> list[ResultTable]:
    """Return a table with one row: seconds a round without and with Dask."""
    table = ResultTable("A training on a Dask cluster of this machine", COLUMNS)
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
        OVERHEAD,
        game=GAME,
        rounds=turns * (rounds - 1),
        own=own,
        dask=dask,
        own_rate=Sample(rates["own"]),
        dask_rate=Sample(rates["dask"]),
        ratio=dask.over(own),
    )
    return [table]


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
