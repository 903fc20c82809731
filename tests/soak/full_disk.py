"""Two guests who have the server store as much as they can."""

from __future__ import annotations

import contextlib
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.server_process import PLAYOUT, serving
from testbed.traffic import HELLO, Message, TrafficPlayer, connect

GAME = "nim(chips=1000)"
#: As much analysis as a move may have: 28 KB as JSON.
INFO: dict[str, Any] = {
    "win_rate": 0.5123456789,
    "pv": [2**30 + each for each in range(100)],
    "actions": [[2**30 + each, 2**40, 0.123456789] for each in range(400)],
    "policy": [[2**30 + each, 0.123456789] for each in range(400)],
}


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
        guests = [_guest(server.port, number, stack) for number in range(2)]
        notified: set[str] = set()
        before, end = _size(folder), time.monotonic() + seconds
        while time.monotonic() < end:
            done.moves += _play(guests, end, notified)
        done.grown = _size(folder) - before
        done.notified = len(notified) == len(guests)
    return done


def _size(folder: str) -> int:
    """Return the bytes of the database and its journal."""
    return sum(each.stat().st_size for each in Path(folder).iterdir())


def _guest(port: int, number: int, stack: contextlib.ExitStack) -> TrafficPlayer:
    """Connect a guest at an address of its own."""
    address = (f"127.0.0.{number + 1}", 0)
    guest = connect(port, number, f"Guest {number}", stack, address=address)
    guest.send(HELLO | {"name": guest.name})
    guest.receive("welcome")
    return guest


def _play(guests: list[TrafficPlayer], end: float, notified: set[str]) -> int:
    """Play a match, at most until `end`, and return the number of moves.

    The guests who are told that their analysis is not stored are added to `notified`.
    """

    def receive(guest: TrafficPlayer, kind: str) -> Message:
        def skip(message: Message) -> None:
            if message.get("code") == "analysis_dropped":
                notified.add(guest.name)

        return guest.receive(kind, skip)

    for number, guest in enumerate(guests):
        guest.send({"type": "seek", "game": GAME, "clock": "none", "seat": number + 1})
    (match,) = {receive(guest, "started")["match"] for guest in guests}
    move = {"type": "move", "match": match, "action": 0, "info": INFO}
    for ply in range(1000):
        guests[ply % 2].send(move | {"ply": ply})
        for guest in guests:
            receive(guest, "update")
        if time.monotonic() > end:
            return ply + 1
    for guest in guests:
        receive(guest, "ended")
    return 1000
