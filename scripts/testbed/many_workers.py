"""A Dask cluster on this machine with hundreds of workers, many of them in one process.

The scheduler is the program of Dask. The workers are complete, with connections, tasks and threads
of their own, but share the processes; a process for each would need 100 MB. What Dask measures
about itself, such as a profile of the tasks every 10 ms, is switched off.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import multiprocessing
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import dask
import msgspec
from distributed import Client, Worker

from playout.protocol.codec import encode
from playout.protocol.messages import Hello, Join, Move, Ping, Request
from testbed.machine import reserve_port

# Players that wait instead of thinking, many in one process, for a tournament with many of them.
#
# What the tournament starts as an entrant is a shell script, COMMAND, with a process of its own: it
# writes what it finds in its environment into a pipe, and sleeps. The process of this module reads
# the pipe, connects to the server for each script, and plays the first legal action of each
# position after the thinking time. A thousand entrants so need little memory, and no processor time
# to think.


#: How entrants are started, in the folder with the script.
COMMAND = "sh sleeper.sh"
_SCRIPT = """\
echo $PLAYOUT_PORT $PLAYOUT_NAME $PLAYOUT_TOKEN $PLAYOUT_TOURNAMENT $PLAYOUT_CORE_SET > {pipe}
exec sleep 100000
"""
_LENGTH = struct.Struct(">I")


class _Received(msgspec.Struct):
    """The fields of events that such a player needs."""

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
    """What the players have done so far: moves sent, matches begun and matches ended."""

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
        """What they have done so far; of a match, the first player counts."""
        return PlayerCounts(*self._counts)


@contextlib.contextmanager
def sleeping_players(folder: Path, thinking_s: float) -> Iterator[SleepingPlayers]:
    """Run the process until the end of the block; the script is written into the folder."""
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
    """Connect a player for each line of the pipe, for ever."""
    # It is opened for writing, too, so that it does not end with the last script.
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
    """A player and its connection."""

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
        data, start = self._unread + data, 0
        while len(data) >= start + _LENGTH.size:
            (length,) = _LENGTH.unpack_from(data, start)
            end = start + _LENGTH.size + length
            if end > len(data):
                break
            self._received(_decode(data[start + _LENGTH.size : end]))
            start = end
        self._unread = data[start:]

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


#: The most workers in a process.
_IN_A_PROCESS = 100
_PATIENCE_S = 300.0
_QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "10s",
}


@dataclass(frozen=True)
class ManyWorkers:
    """The address of the scheduler, and the numbers of the processes."""

    address: str
    scheduler: int
    workers: Sequence[int]


@contextlib.contextmanager
def many_workers(count: int) -> Iterator[ManyWorkers]:
    """Run a scheduler and that many workers, each with a thread, until the end of the block."""
    port = reserve_port()
    address = f"tcp://127.0.0.1:{port}"
    sizes = [min(_IN_A_PROCESS, count - first) for first in range(0, count, _IN_A_PROCESS)]
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_run_players, args=(address, size)) for size in sizes]
    with _scheduler(port) as scheduler:
        try:
            for each in processes:
                each.start()
            with Client(address, timeout=_PATIENCE_S, set_as_default=False) as client:
                client.wait_for_workers(count, _PATIENCE_S)
            yield ManyWorkers(address, scheduler, [each.pid or 0 for each in processes])
        finally:
            for each in processes:
                each.kill()
                each.join()


@contextlib.contextmanager
def _scheduler(port: int) -> Iterator[int]:
    """Run a scheduler on a port of this machine until the end of the block; its process."""
    program = str(Path(sys.executable).with_name("dask"))
    options = ("--host", "127.0.0.1", "--port", str(port), "--no-dashboard", "--no-show")
    words, nowhere = [program, "scheduler", *options], subprocess.DEVNULL
    with subprocess.Popen(words, stdout=nowhere, stderr=nowhere) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def _run_players(address: str, count: int) -> None:
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
