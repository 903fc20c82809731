"""Clusters of hundreds of workers, by simulation: the limits of one runner, server and scheduler.

The entrants wait instead of thinking, so that hundreds of workers fit on one machine. Server,
runner and scheduler are real: `playout-tournament run --dask` and `dask scheduler`. The workers are
complete, too, with up to a hundred in a process. So are the tasks, each with a process for its
entrant; but one further process plays for all entrants.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import multiprocessing
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
import dask
import msgspec
from distributed import Client, Worker

from playout.protocol.codec import encode
from playout.protocol.messages import Hello, Join, Move, Ping, Request
from testbed.bench import Bench, Column, ResultTable
from testbed.machine import children, own_processor_seconds, reserve_port, runs
from testbed.server_process import TOURNAMENT, allow_connections
from testbed.traffic import split

#: The command of an entrant, in the folder of the tournament.
COMMAND = "sh sleeper.sh"
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
#: The most workers in a process.
IN_A_PROCESS = 100
#: Longest time until all core sets play.
PATIENCE_S = 300.0
#: Seconds before the measurement, so that the matches do not all begin at once.
WARM_UP_S = 5.0


def run(bench: Bench) -> list[ResultTable]:
    """Return a table with the rate of matches and the load of the processes."""
    sizes, thinking, seconds = bench.pick(((50, 200, 500), (1.0, 0.1), 20.0), ((10,), (0.1,), 3.0))
    allow_connections(4 * max(sizes))
    table = ResultTable(f"Clusters whose entrants wait, for {seconds:g} s", COLUMNS)
    for size in bench.track(sizes):
        with local_cluster(size, in_a_process=IN_A_PROCESS) as cluster:
            for thinking_s in thinking:
                table.add(
                    workers=size,
                    thinking_s=thinking_s,
                    **_measured(cluster, size, thinking_s, seconds),
                )
    return [table]


def _measured(
    cluster: LocalCluster, size: int, thinking_s: float, seconds: float
) -> Mapping[str, float]:
    """Return the numbers of a row, from a tournament that is played for that many seconds."""
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
def _running(folder: Path, cluster: LocalCluster) -> Iterator[_Tournament]:
    """Run the tournament of the folder until the end of the block."""
    words = (TOURNAMENT, "run", "spec.toml", "--dask", cluster.address, "--http", "none")
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
    """A running tournament: its runner, the cluster and the log."""

    runner: subprocess.Popen[bytes]
    cluster: LocalCluster
    log: Path

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for a condition. Raises ClickException if it does not become true."""
        give_up_at = time.monotonic() + PATIENCE_S
        while not condition():
            if self.runner.poll() is not None or time.monotonic() > give_up_at:
                output = self.log.read_text()
                raise click.ClickException(f"waited for {what}; output of the runner:\n{output}")
            time.sleep(0.1)

    def measure(
        self, players: SleepingPlayers, size: int, thinking_s: float, seconds: float
    ) -> dict[str, float]:
        """Return the rates and the loads during that many seconds from now."""
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


# Players that wait instead of thinking, all in one process.
#
# The tournament starts a shell script as an entrant, COMMAND, with a process of its own: it writes
# its token and the variables of its environment into a pipe, and sleeps. The process of the players
# reads the pipe, connects to the server for each script, and plays the first legal action of each
# position after the thinking time. A thousand entrants need little memory, and no processor time.


_SCRIPT = """\
read token
echo $PLAYOUT_PORT $PLAYOUT_NAME $token $PLAYOUT_TOURNAMENT $PLAYOUT_CORE_SET > {pipe}
exec sleep 100000
"""
_LENGTH = struct.Struct(">I")


class _Received(msgspec.Struct):
    """The fields of events that a player needs."""

    type: str
    match: str = ""
    seat: int = 0
    to_move: int = 0
    ply: int = -1
    moves: tuple[int, ...] = ()
    legal_actions: tuple[int, ...] = ()
    text: str = ""


@dataclass
class PlayerCounts:
    """Moves sent, matches begun and matches ended by all players so far."""

    moves: int
    begun: int
    ended: int


class SleepingPlayers:
    """The process with all players, as the benchmark sees it."""

    def __init__(self, pid: int, counts: Any) -> None:
        self.pid = pid
        self._counts = counts

    @property
    def counts(self) -> PlayerCounts:
        """The counts so far; only the first player of a match counts it."""
        return PlayerCounts(*self._counts)


@contextlib.contextmanager
def sleeping_players(folder: Path, thinking_s: float) -> Iterator[SleepingPlayers]:
    """Write the script into the folder, and run the process until the end of the block."""
    pipe = folder / "players"
    os.mkfifo(pipe)
    (folder / "sleeper.sh").write_text(_SCRIPT.format(pipe=pipe))
    context = multiprocessing.get_context("spawn")
    counts = context.Array("q", 3, lock=False)
    process = context.Process(target=_run, args=(str(pipe), thinking_s, counts), daemon=True)
    process.start()
    assert process.pid is not None
    try:
        yield SleepingPlayers(process.pid, counts)
    finally:
        process.kill()
        process.join()
        pipe.unlink()


def _run(pipe: str, thinking_s: float, counts: Any) -> None:
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_play(pipe, thinking_s, counts))


async def _play(pipe: str, thinking_s: float, counts: Any) -> None:
    """Connect a player for each line of the pipe, without end."""
    # The pipe is opened for writing, too, so that it does not end with the last script.
    descriptor = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", buffering=0)
    )
    while line := await reader.readline():
        port, *words = line.decode().split()
        sleeper = partial(_Sleeper, *words, thinking_s=thinking_s, counts=counts)
        await loop.create_connection(sleeper, "127.0.0.1", int(port))


class _Sleeper(asyncio.Protocol):
    """A simulated player, and its connection."""

    def __init__(
        self,
        name: str,
        token: str,
        tournament: str,
        core_set: str,
        *,
        thinking_s: float,
        counts: Any,
    ) -> None:
        self._hello = Hello(
            protocol_min=1, protocol_max=1, name=name, token=token, legal_actions=True
        )
        self._join = Join(tournament=tournament, core_set=int(core_set), process=int(core_set))
        self._thinking_s = thinking_s
        self._counts = counts
        self._seat = 0
        self._unread = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send(self._hello)

    def data_received(self, data: bytes) -> None:
        payloads, self._unread = split(self._unread + data)
        for payload in payloads:
            self._received(_decode(payload))

    def _received(self, event: _Received) -> None:
        match event.type:
            case "welcome":
                self._send(self._join)
            case "started":
                self._seat = event.seat
                self._counts[1] += event.seat == 1
                self._move_later(event, len(event.moves))
            case "update":
                self._move_later(event, event.ply + 1)
            case "ended":
                self._counts[2] += self._seat == 1
            case "ping":
                self._send(Ping())
            case "error":
                print(f"the server refuses a request: {event.text}", flush=True)

    def _move_later(self, event: _Received, ply: int) -> None:
        if event.to_move == self._seat:
            move = Move(match=event.match, ply=ply, action=event.legal_actions[0])
            asyncio.get_running_loop().call_later(self._thinking_s, self._move, move)

    def _move(self, move: Move) -> None:
        self._counts[0] += 1
        self._send(move)

    def _send(self, request: Request) -> None:
        frame = encode(request)
        self._transport.write(_LENGTH.pack(len(frame)) + frame)


_decode = msgspec.msgpack.Decoder(_Received).decode


_PATIENCE_S = 300.0
_QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "10s",
}


@dataclass(frozen=True)
class LocalCluster:
    """A Dask cluster on this machine: the address of its scheduler, the numbers of its processes.

    The scheduler is the program of Dask. The workers are complete, with connections, tasks and
    threads of their own, but many may share a process: a process for each would need 100 MB. The
    measurements of Dask itself, such as a profile of the tasks every 10 ms, are switched off.
    """

    address: str
    scheduler: int
    workers: Sequence[int]


@contextlib.contextmanager
def local_cluster(workers: int, *, in_a_process: int = 1) -> Iterator[LocalCluster]:
    """Run a scheduler and workers with a thread each, until the end of the block.

    `in_a_process`: the maximum number of workers of a process.
    """
    port = reserve_port()
    address = f"tcp://127.0.0.1:{port}"
    sizes = [min(in_a_process, workers - first) for first in range(0, workers, in_a_process)]
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_run_workers, args=(address, size)) for size in sizes]
    with _scheduler(port) as scheduler:
        try:
            for each in processes:
                each.start()
            with Client(address, timeout=_PATIENCE_S, set_as_default=False) as client:
                client.wait_for_workers(workers, _PATIENCE_S)
            yield LocalCluster(address, scheduler, [each.pid or 0 for each in processes])
        finally:
            for each in processes:
                each.kill()
                each.join()


@contextlib.contextmanager
def _scheduler(port: int) -> Iterator[int]:
    """Run a scheduler until the end of the block; yield the number of its process."""
    program = str(Path(sys.executable).with_name("dask"))
    options = ("--host", "127.0.0.1", "--port", str(port), "--no-dashboard", "--no-show")
    words, nowhere = [program, "scheduler", *options], subprocess.DEVNULL
    with subprocess.Popen(words, stdout=nowhere, stderr=nowhere) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def _run_workers(address: str, count: int) -> None:
    """Run some workers, until this process is killed."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with (
        contextlib.suppress(KeyboardInterrupt),
        tempfile.TemporaryDirectory(prefix="playout-workers-") as folder,
        dask.config.set(_QUIET),
    ):
        asyncio.run(_work(address, count, folder))


async def _work(address: str, count: int, folder: str) -> None:
    workers = [
        await Worker(address, nthreads=1, memory_limit=0, local_directory=folder, host="127.0.0.1")
        for _ in range(count)
    ]
    await asyncio.gather(*(each.finished() for each in workers))
