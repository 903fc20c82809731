"""Rounds of a training: its own processes, against the workers of a Dask cluster.

Both train a net for 6x6 four in a row on this machine, with a process that plays for each core, and
learn the same number of samples in the same steps between: equal rounds are equal strength but for
chance. The two take turns. A scheduler and the workers are processes, as on a real cluster. The
first round is left out: it has the start of the processes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from playout.commands.subprocesses import usable_cores
from playout.players.training.record import RoundRecord
from playout.players.training.run_folder import RunFolder
from testbed.bench import Bench, Column, ResultTable, Target
from testbed.machine import reserve_port
from testbed.measure import Sample, alternate

GAME = "mnk(m=6,n=6,k=4)"
#: The overhead of a cluster of one machine.
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
    rates: dict[str, list[float]] = {"own": [], "dask": []}
    with tempfile.TemporaryDirectory(prefix="playout-training-") as name, _cluster() as address:
        titles = [f"turn {turn + 1}" for turn in range(turns)]
        taken: dict[str, list[float]] = {"own": [], "dask": []}
        for title in bench.track(titles):
            folder = Path(name, title)

            def seconds(kind: str, *more: str, folder: Path = folder) -> float:
                records = _train(folder / kind, rounds, *more)
                rates[kind].append(_rate(records))
                return (records[-1].seconds - records[0].seconds) / (len(records) - 1)

            both = alternate(
                1, own=lambda: seconds("own"), dask=lambda: seconds("dask", "--dask", address)
            )
            for kind, sample in both.items():
                taken[kind] += sample
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


def _train(folder: Path, rounds: int, *more: str) -> list[RoundRecord]:
    """Train a new net for so many rounds; returns what was recorded about them."""
    _playout_train("new", GAME, str(folder))
    _playout_train("run", str(folder), "--rounds", str(rounds), *more)
    return RunFolder(folder).records()


def _rate(records: list[RoundRecord]) -> float:
    """Evaluations a second of self-play, after the first round."""
    return sum(each.evaluations_per_s for each in records[1:]) / (len(records) - 1)


@contextmanager
def _cluster() -> Iterator[str]:
    """The address of a scheduler with a worker for each core, to the end of the block."""
    port = reserve_port()
    address = f"tcp://127.0.0.1:{port}"
    worker = ("worker", address, "--nthreads", "1", "--no-nanny", "--memory-limit", "0")
    scheduler = ("scheduler", "--host", "127.0.0.1", "--port", str(port))
    processes = [_start(*scheduler, "--no-dashboard", "--no-show")]
    processes += [_start(*worker, "--no-dashboard") for _ in range(usable_cores())]
    try:
        _wait_for_workers(address, usable_cores())
        yield address
    finally:
        for each in processes:
            each.kill()
            each.wait()


def _wait_for_workers(address: str, number: int) -> None:
    from distributed import Client

    while True:
        try:
            with Client(address, timeout=30, set_as_default=False) as client:
                client.wait_for_workers(number, timeout=60)
                return
        except OSError:
            time.sleep(0.5)


def _start(*words: str) -> subprocess.Popen[bytes]:
    quiet = subprocess.DEVNULL
    return subprocess.Popen([sys.executable, "-m", "dask", *words], stdout=quiet, stderr=quiet)


def _playout_train(*words: str) -> None:
    """Run `playout-train` to its end. Raises ClickException with its output if it fails."""
    program = "from playout.server.runtime import entry_points; entry_points.training()"
    command = [sys.executable, "-P", "-c", program, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise click.ClickException(f"playout-train {' '.join(words)}: {done.stdout}{done.stderr}")
