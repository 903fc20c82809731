"""Spectators at pages, in a process of their own that gets out of the way of everybody else.

They read what they are sent, see that no move is left out, and do nothing more.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
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

SILENCE_S = 20.0
#: Nothing for so long, and all that was to come has come.
QUIET_S = 1.0
#: So many are let in before the next ones come.
AT_ONCE = 100
NICE = 19

_UPDATE = re.compile(rb'"type":"update","match":"(\w+)","ply":(\d+),')
#: No longer than what that finds, so that one that comes in two pieces is found once.
_TAIL = 60


@dataclass
class SpectatorReport:
    """What was seen: moves told in all, of how many matches, and what should not have been."""

    moves: int = 0
    kib: float = 0.0
    matches: int = 0
    fault: str = ""


@contextlib.contextmanager
def watching(page: int, count: int, matches: int) -> Iterator[Spectators]:
    """So many who each watch as many matches, once they are asked to."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_live, args=(page, count, matches, there), daemon=True)
    process.start()
    there.close()
    try:
        spectators = Spectators(here)
        spectators.answer()  # all are welcome
        yield spectators
    finally:
        process.terminate()
        process.join()
        here.close()


class Spectators:
    """The other end of the line to them."""

    def __init__(self, line: Connection) -> None:
        self._line = line

    def watch(self) -> None:
        """Have them watch as soon as so many matches run; they answer when they do."""
        self._line.send("watch")

    def finish(self) -> SpectatorReport:
        """Have them read the rest; what they saw. Raises ClickException if they missed a move."""
        self._line.send("finish")
        return self.answer()

    def answer(self) -> SpectatorReport:
        """What they say when they have done something."""
        if not self._line.poll(3 * SILENCE_S):
            raise click.ClickException("the spectators do not answer")
        watched: SpectatorReport = self._line.recv()
        if watched.fault:
            raise click.ClickException(f"spectators: {watched.fault}")
        return watched


@dataclass
class _Spectator:
    line: socket.socket
    tail: bytes = b""
    size: int = 0
    started: int = 0
    #: For each match the first ply that was told, and the next one that is to come.
    plies: dict[bytes, list[int]] = field(default_factory=dict)
    missed: int = 0

    def say(self, **message: Any) -> None:
        """In a frame whose mask changes nothing."""
        payload = json.dumps(message).encode()
        size = len(payload)
        length = bytes([0x80 | size]) if size < 126 else b"\xfe" + size.to_bytes(2, "big")
        self.line.sendall(b"\x81" + length + bytes(4) + payload)

    def until(self, expected: bytes) -> bytes:
        """What is said up to something, which is not a move."""
        heard = b""
        while expected not in heard:
            heard += self._read()
        return heard

    def hear(self) -> None:
        """What has come."""
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
        data = self.line.recv(2**18)
        if not data:
            raise EOFError("the server has hung up on one of them")
        self.size += len(data)
        return data


def _live(page: int, count: int, matches: int, line: Connection) -> None:
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    os.setpriority(os.PRIO_PROCESS, 0, NICE)
    try:
        with contextlib.ExitStack() as stack:
            spectators = _welcome(page, count, stack)
            line.send(SpectatorReport())
            line.recv()
            _watch(spectators, matches)
            line.send(SpectatorReport(matches=matches))
            line.send(_read_on(spectators, line))
            line.recv()
    except EOFError:
        line.send(SpectatorReport(fault="the server has hung up on one of them"))
    except Exception:
        line.send(SpectatorReport(fault=traceback.format_exc()))


def _welcome(page: int, count: int, stack: contextlib.ExitStack) -> list[_Spectator]:
    spectators: list[_Spectator] = []
    while len(spectators) < count:
        newcomers = []
        for number in range(len(spectators), min(count, len(spectators) + AT_ONCE)):
            socket_ = stack.enter_context(socket.create_connection(("127.0.0.1", page)))
            socket_.settimeout(SILENCE_S)
            spectator = _Spectator(socket_)
            newcomers.append(spectator)
            socket_.sendall(_UPGRADE)
            spectator.say(
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
    """All the matches, as soon as there are so many."""
    first = spectators[0]
    found: list[str] = []
    while len(found) < matches:
        first.say(type="list", id=0)
        first.say(type="ping", id=0)
        listing = first.until(b'"type":"pong","re":0')
        running = listing[listing.index(b'"matches":') :]
        found = [each.decode() for each in re.findall(rb'"match":"(\w+)"', running)]
    for spectator in spectators:
        for match in found[:matches]:
            spectator.say(type="watch", match=match)
        spectator.say(type="ping", id="watches")
        heard = spectator.until(b'"re":"watches"')
        spectator.tail = heard[heard.rindex(b'"re":"watches"') :]
        spectator.started = heard.count(b'"type":"started"')


def _read_on(spectators: list[_Spectator], line: Connection) -> SpectatorReport:
    """What they saw, when they are asked for it."""
    with selectors.DefaultSelector() as selector:
        selector.register(line, selectors.EVENT_READ)
        for spectator in spectators:
            selector.register(spectator.line, selectors.EVENT_READ, spectator)
        finishing = False
        while ready := selector.select(QUIET_S if finishing else None):
            for key, _ in ready:
                if key.data:
                    key.data.hear()
                else:
                    line.recv()
                    finishing = True
                    selector.unregister(line)
    return _seen(spectators)


def _seen(spectators: list[_Spectator]) -> SpectatorReport:
    """Raises AssertionError if somebody was not told of a move."""
    last = {match: span[1] for match, span in spectators[0].plies.items()}
    for spectator in spectators:
        assert not spectator.missed, f"{spectator.missed} moves were not told, or out of turn"
        ends = {match: span[1] for match, span in spectator.plies.items()}
        assert ends == last, "somebody was told of more moves than somebody else"
    return SpectatorReport(
        moves=sum(after - before for s in spectators for before, after in s.plies.values()),
        kib=sum(spectator.size for spectator in spectators) / 1024,
        matches=len(last),
    )
