"""Two guests who have the server store as much as they can."""

from __future__ import annotations

import contextlib
import socket
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.server_process import PLAYOUT, serving
from testbed.traffic import HELLO, Message, TrafficPlayer

GAME = "nim(chips=1000)"
#: As much analysis as a move may have: 28 KB as JSON.
INFO: dict[str, Any] = {
    "win_rate": 0.5123456789,
    "pv": [2**30 + each for each in range(100)],
    "actions": [[2**30 + each, 2**40, 0.123456789] for each in range(400)],
    "policy": [[2**30 + each, 0.123456789] for each in range(400)],
}
SILENCE_S = 60.0


@dataclass
class StoredByGuests:
    """The moves that two guests made in some seconds, and the bytes that the database grew by."""

    moves: int = 0
    grown: int = 0
    #: Whether each guest was told that its analysis is not stored.
    notified: bool = False


def store_much(seconds: float) -> StoredByGuests:
    """Let two guests at two addresses play as fast as they can, each move with full analysis."""
    done = StoredByGuests()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        database = f"--database=sqlite:///{folder}/playout.db"
        server = stack.enter_context(serving([*PLAYOUT, database]))
        guests = [_Guest(server.port, number, stack) for number in range(2)]
        before, end = _size(folder), time.monotonic() + seconds
        while time.monotonic() < end:
            done.moves += _play(guests, end)
        done.grown = _size(folder) - before
        done.notified = all(each.notified for each in guests)
    return done


def _size(folder: str) -> int:
    """Return the bytes of the database and its journal."""
    return sum(each.stat().st_size for each in Path(folder).iterdir())


class _Guest:
    """One of the two guests, with its connection."""

    def __init__(self, port: int, number: int, stack: contextlib.ExitStack) -> None:
        source = (f"127.0.0.{number + 1}", 0)
        connection = stack.enter_context(
            socket.create_connection(("127.0.0.1", port), SILENCE_S, source_address=source)
        )
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.player = TrafficPlayer(number, f"Guest {number}", connection)
        self.notified = False
        self._received = self._messages()
        self.player.send(HELLO | {"name": self.player.name}, 0.0)
        self.receive("welcome")

    def receive(self, kind: str) -> Message:
        """Return the next message of that type."""
        for message in self._received:
            self.notified |= message.get("code") == "analysis_dropped"
            if message["type"] == kind:
                return message
        raise AssertionError

    def _messages(self) -> Iterator[Message]:
        while True:
            yield from self.player.received()


def _play(guests: list[_Guest], end: float) -> int:
    """Play a match, at most until `end`, and return the number of moves."""
    for number, guest in enumerate(guests):
        guest.player.send({"type": "seek", "game": GAME, "clock": "none", "seat": number + 1}, 0.0)
    (match,) = {guest.receive("started")["match"] for guest in guests}
    move = {"type": "move", "match": match, "action": 0, "info": INFO}
    for ply in range(1000):
        guests[ply % 2].player.send(move | {"ply": ply}, 0.0)
        for guest in guests:
            guest.receive("update")
        if time.monotonic() > end:
            return ply + 1
    for guest in guests:
        guest.receive("ended")
    return 1000
