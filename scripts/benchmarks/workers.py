"""Clusters of hundreds of workers, by simulation: what one runner, server and scheduler hold.

The entrants wait instead of thinking, so that hundreds of workers fit on one machine. Server,
runner and scheduler are real: `playout-tournament run --dask` and `dask scheduler`. The workers are
complete, too, with up to a hundred in a process, and so are the tasks, and a process for each
entrant; but one further process plays for all entrants.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from testbed.bench import Bench, Column, ResultTable
from testbed.killed_tournament import COMMAND as RUNNER
from testbed.machine import children, own_processor_seconds, runs
from testbed.many_workers import (
    COMMAND,
    ManyWorkers,
    SleepingPlayers,
    many_workers,
    sleeping_players,
)
from testbed.server_process import allow_connections

SPEC = """
name = "sleepers"
games = ["connect_four"]
format = "match"
rounds = 20_000
clock = "60/move"
concurrency = {workers}
seed = 7
openings = {{ plies = 4 }}
[[entrants]]
name = "one"
command = "{command}"
[[entrants]]
name = "two"
command = "{command}"
"""
COLUMNS = (
    Column("workers", "workers"),
    Column("thinking_s", "s per move", "g"),
    Column("start_s", "start, s", ".0f"),
    Column("per_hour", "matches an hour"),
    Column("moves", "moves/s"),
    Column("thinking", "thinking", ".0%"),
    Column("runner", "runner", ".0%"),
    Column("server", "server", ".0%"),
    Column("storage", "storage", ".0%"),
    Column("scheduler", "scheduler", ".0%"),
    Column("workers_busy", "all workers", ".0%"),
    Column("players_busy", "all players", ".0%"),
)
#: Longest time until all core sets play.
PATIENCE_S = 300.0
#: Before the measurement, so that the matches do not all begin at once.
WARM_UP_S = 5.0


def run(bench: Bench) -> list[ResultTable]:
    """Return a table with the rate of matches and the load of the processes."""
    sizes, thinking, seconds = bench.pick(((50, 200, 500), (1.0, 0.1), 20.0), ((10,), (0.1,), 3.0))
    allow_connections(4 * max(sizes))
    table = ResultTable(f"Clusters whose entrants wait, for {seconds:g} s", COLUMNS)
    for size in bench.track(sizes):
        with many_workers(size) as cluster:
            for thinking_s in thinking:
                table.add(
                    workers=size,
                    thinking_s=thinking_s,
                    **_measured(cluster, size, thinking_s, seconds),
                )
    return [table]


def _measured(
    cluster: ManyWorkers, size: int, thinking_s: float, seconds: float
) -> Mapping[str, float]:
    """The numbers of a row, from a tournament that is played for that many seconds."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="playout-workers-") as name:
        folder = Path(name)
        (folder / "spec.toml").write_text(SPEC.format(workers=size, command=COMMAND))
        with sleeping_players(folder, thinking_s) as players, _running(folder, cluster) as run:
            run.wait(lambda: players.counts.begun >= size, "all core sets to play")
            start_s = time.monotonic() - began
            time.sleep(WARM_UP_S)
            return {"start_s": start_s} | run.measure(players, size, thinking_s, seconds)


@contextlib.contextmanager
def _running(folder: Path, cluster: ManyWorkers) -> Iterator[_Tournament]:
    """Run the tournament of the folder until the end of the block."""
    words = (RUNNER, "run", "spec.toml", "--dask", cluster.address, "--http", "none")
    database = f"sqlite:///{folder / 'tournament.db'}"
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(
            [*words, "--database", database], cwd=folder, stdout=log, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            yield _Tournament(process, cluster, folder / "log")
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE_S)
        finally:
            process.kill()


@dataclass
class _Tournament:
    """A tournament that is being played: its runner, and what belongs to it."""

    runner: subprocess.Popen[bytes]
    cluster: ManyWorkers
    log: Path

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for a condition. Raises ClickException if it does not come true."""
        give_up_at = time.monotonic() + PATIENCE_S
        while not condition():
            if self.runner.poll() is not None or time.monotonic() > give_up_at:
                raise click.ClickException(
                    f"waited without success for {what}; the runner said:\n{self.log.read_text()}"
                )
            time.sleep(0.1)

    def measure(
        self, players: SleepingPlayers, size: int, thinking_s: float, seconds: float
    ) -> dict[str, float]:
        """The rates and the loads during that many seconds from now."""
        (server,) = (
            pid for pid in children(self.runner.pid) if runs(pid, "playout.server.server_command")
        )
        processes = {
            "runner": [self.runner.pid],
            "server": [server],
            "storage": children(server),
            "scheduler": [self.cluster.scheduler],
            "workers_busy": self.cluster.workers,
            "players_busy": [players.pid],
        }
        began, before = time.monotonic(), players.counts
        spent = {name: _spent(pids) for name, pids in processes.items()}
        time.sleep(seconds)
        took, after = time.monotonic() - began, players.counts
        moves = (after.moves - before.moves) / took
        return {
            "per_hour": (after.ended - before.ended) / took * 3600,
            "moves": moves,
            "thinking": moves * thinking_s / size,
            **{name: (_spent(pids) - spent[name]) / took for name, pids in processes.items()},
        }


def _spent(pids: Iterable[int]) -> float:
    return sum(map(own_processor_seconds, pids))
