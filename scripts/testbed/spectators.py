"""Spectators over WebSocket, in a process of their own with the lowest priority.

They read their messages, and check that no move is missing.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import socket
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import click

from testbed.machine import piped_process

SILENCE_S = 20.0
#: After this many seconds without a message, all messages have arrived.
QUIET_S = 1.0
#: Number of spectators that connect before the next ones start.
AT_ONCE = 100
NICE = 19

_UPDATE = re.compile(rb'"type":"update","match":"(\w+)","ply":(\d+),')
#: Bytes kept between reads: at most the length of a match of _UPDATE, so that an update that
#: arrives in two pieces is found once.
_TAIL = 60


@dataclass
class SpectatorReport:
    """The report of the spectators: received moves in all, data, matches; `fault` or empty."""

    moves: int = 0
    kib: float = 0.0
    matches: int = 0
    fault: str = ""


@contextlib.contextmanager
def watching(page: int, count: int, matches: int) -> Iterator[Spectators]:
    """Connect `count` spectators, each of which will watch `matches` matches on request."""
    with piped_process(_run, page, count, matches) as pipe:
        spectators = Spectators(pipe)
        spectators.answer()  # all are connected
        yield spectators


class Spectators:
    """A handle to the process of the spectators."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def watch(self) -> None:
        """Let them watch as soon as enough matches run; they answer then."""
        self._pipe.send("watch")

    def finish(self) -> SpectatorReport:
        """Let them read the rest; return the report. Raises ClickException for a missed move."""
        self._pipe.send("finish")
        return self.answer()

    def answer(self) -> SpectatorReport:
        """Wait for the next report. Raises ClickException for a fault, or without an answer."""
        if not self._pipe.poll(3 * SILENCE_S):
            raise click.ClickException("the spectators do not answer")
        watched: SpectatorReport = self._pipe.recv()
        if watched.fault:
            raise click.ClickException(f"spectators: {watched.fault}")
        return watched


@dataclass
class _Spectator:
    connection: socket.socket
    tail: bytes = b""
    size: int = 0
    started: int = 0
    #: For each match, the first ply received and the next one expected.
    plies: dict[bytes, list[int]] = field(default_factory=dict)
    missed: int = 0

    def send(self, **message: Any) -> None:
        """Send a message in a WebSocket frame with a mask of zeros."""
        payload = json.dumps(message).encode()
        size = len(payload)
        length = bytes([0x80 | size]) if size < 126 else b"\xfe" + size.to_bytes(2, "big")
        self.connection.sendall(b"\x81" + length + bytes(4) + payload)

    def until(self, expected: bytes) -> bytes:
        """Read until `expected`, which is not a move; return the data."""
        received = b""
        while expected not in received:
            received += self._read()
        return received

    def receive(self) -> None:
        """Read the data that has arrived, and check the plies of its updates."""
        data = self.tail + self._read()
        end = 0
        for found in _UPDATE.finditer(data):
            end = found.end()
            ply = int(found[2])
            span = self.plies.setdefault(found[1], [ply, ply])
            self.missed += ply != span[1]
            span[1] = ply + 1
        self.tail = data[max(end, len(data) - _TAIL) :]

    def _read(self) -> bytes:
        data = self.connection.recv(2**18)
        if not data:
            raise EOFError
        self.size += len(data)
        return data


def _run(page: int, count: int, matches: int, pipe: Connection) -> None:
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    os.setpriority(os.PRIO_PROCESS, 0, NICE)
    try:
        with contextlib.ExitStack() as stack:
            spectators = _connect(page, count, stack)
            pipe.send(SpectatorReport())
            pipe.recv()
            _watch(spectators, matches)
            pipe.send(SpectatorReport(matches=matches))
            pipe.send(_read_on(spectators, pipe))
            pipe.recv()
    except EOFError:
        pipe.send(SpectatorReport(fault="the server has closed a connection"))
    except Exception:
        pipe.send(SpectatorReport(fault=traceback.format_exc()))


def _connect(page: int, count: int, stack: contextlib.ExitStack) -> list[_Spectator]:
    spectators: list[_Spectator] = []
    while len(spectators) < count:
        newcomers = []
        for number in range(len(spectators), min(count, len(spectators) + AT_ONCE)):
            socket_ = stack.enter_context(socket.create_connection(("127.0.0.1", page)))
            socket_.settimeout(SILENCE_S)
            spectator = _Spectator(socket_)
            newcomers.append(spectator)
            socket_.sendall(_UPGRADE)
            spectator.send(
                type="hello",
                protocol_min=1,
                protocol_max=1,
                name=f"spectator {number}",
                role="spectator",
                guest=True,
                views=True,
            )
        for spectator in newcomers:
            spectator.until(b'"type":"welcome"')
        spectators += newcomers
    return spectators


_UPGRADE = (
    b"GET /socket HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def _watch(spectators: list[_Spectator], matches: int) -> None:
    """Let all spectators watch all matches, as soon as that many run."""
    first = spectators[0]
    found: list[str] = []
    while len(found) < matches:
        first.send(type="list", id=0)
        first.send(type="ping", id=0)
        listing = first.until(b'"type":"pong","re":0')
        running = listing[listing.index(b'"matches":') :]
        found = [each.decode() for each in re.findall(rb'"match":"(\w+)"', running)]
    for spectator in spectators:
        for match in found[:matches]:
            spectator.send(type="watch", match=match)
        spectator.send(type="ping", id="watches")
        received = spectator.until(b'"re":"watches"')
        spectator.tail = received[received.rindex(b'"re":"watches"') :]
        spectator.started = received.count(b'"type":"started"')


def _read_on(spectators: list[_Spectator], pipe: Connection) -> SpectatorReport:
    """Read all messages until the request to finish, and return the report."""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        for spectator in spectators:
            selector.register(spectator.connection, selectors.EVENT_READ, spectator)
        finishing = False
        while ready := selector.select(QUIET_S if finishing else None):
            for key, _ in ready:
                if key.data:
                    key.data.receive()
                else:
                    pipe.recv()
                    finishing = True
                    selector.unregister(pipe)
    return _report(spectators)


def _report(spectators: list[_Spectator]) -> SpectatorReport:
    """Return the report. Raises AssertionError if a spectator missed a move."""
    last = {match: span[1] for match, span in spectators[0].plies.items()}
    for spectator in spectators:
        assert not spectator.missed, f"{spectator.missed} moves were missing or out of order"
        ends = {match: span[1] for match, span in spectator.plies.items()}
        assert ends == last, "the spectators received different numbers of moves"
    return SpectatorReport(
        moves=sum(after - before for s in spectators for before, after in s.plies.values()),
        kib=sum(spectator.size for spectator in spectators) / 1024,
        matches=len(last),
    )
