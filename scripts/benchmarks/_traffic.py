"""A process that serves matches, and many players at once who keep it busy.

The players run in this process and do as little as they can: one select, one read and one decoded
map a frame, and a random legal action as the answer.
"""

from __future__ import annotations

import contextlib
import random
import selectors
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import click
import msgpack

from benchmarks._machine import cores_apart, processor_seconds

Message = dict[str, Any]

#: Nothing for so long, and something is wrong.
SILENCE_S = 20.0
#: The share of the time that goes by before anything counts.
WARM_UP = 0.25


class Served(NamedTuple):
    """A running process: where it listens."""

    port: int
    pid: int


class Dialogue:
    """What a player says. This is one of the real server; a subclass may speak to another."""

    def __init__(self, game: str) -> None:
        self._seek: Message = {"type": "seek", "game": game}
        self._choose = random.Random(1).choice

    def opening(self, player: Player) -> list[Message]:
        """At first: who one is, by a name that nobody else has, and what one wants."""
        hello = {"type": "hello", "protocol_min": 1, "protocol_max": 1, "legal_actions": True}
        return [hello | {"name": f"player {player.line.getsockname()[1]}"}, self._seek]

    def answer(self, player: Player, message: Message) -> Message | None:
        """To a message, with a move where it is one's turn."""
        kind = message["type"]
        if kind == "started":
            player.seat, ply = message["seat"], len(message["moves"])
        elif kind == "update":
            ply = message["ply"] + 1
        elif kind == "error":
            raise click.ClickException(f"the server refused something: {message['text']}")
        else:
            return self._seek if kind == "ended" else None
        if message["to_move"] != player.seat:
            return None
        return self.move(message["match"], ply, message["legal_actions"])

    def move(self, match: str, ply: int, actions: Sequence[int]) -> Message:
        """A random legal action."""
        return {
            "type": "move",
            "match": match,
            "ply": ply,
            "action": self._choose(actions),
            "id": ply,
        }


class Relayed(Dialogue):
    """The same moves by the same players, when all that comes back is what they said."""

    def opening(self, player: Player) -> list[Message]:
        """The first of each pair makes the first move."""
        return [] if player.number % 2 else [self.move("0123456789", 0, range(7))]

    def answer(self, player: Player, message: Message) -> Message | None:
        """The next move, if the last one was the other's."""
        ply = message["ply"] + 1
        if ply % 2 != player.number % 2:
            return None
        return self.move(message["match"], ply, range(7))


@dataclass
class Player:
    """One connection."""

    number: int
    line: socket.socket
    seat: int = 0
    unread: bytes = b""
    sent_at: float = 0.0

    def send(self, message: Message, now: float) -> None:
        """Say something."""
        frame = msgpack.packb(message)
        if message["type"] == "move":
            self.sent_at = now
        self.line.sendall(struct.pack(">I", len(frame)) + frame)

    def received(self) -> Iterator[Message]:
        """What was said to it."""
        data = self.line.recv(65536)
        if not data:
            raise click.ClickException("the server ended a connection")
        data = self.unread + data
        start = 0
        while len(data) >= start + 4:
            end = start + 4 + int.from_bytes(data[start : start + 4], "big")
            if len(data) < end:
                break
            yield msgpack.unpackb(data[start + 4 : end])
            start = end
        self.unread = data[start:]


@dataclass
class Load:
    """What happened in `seconds`."""

    seconds: float = 0.0
    server_s: float = 0.0
    client_s: float = 0.0
    #: From each move to its mover's copy of the update.
    latencies_s: list[float] = field(default_factory=list)

    @property
    def moves(self) -> int:
        """How many were made."""
        return len(self.latencies_s)


@contextlib.contextmanager
def serving(command: Sequence[str]) -> Iterator[Served]:
    """Run a program that prints `... listening on HOST:PORT`, until the end of the block."""
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            announced = process.stdout.readline().strip()
            if not announced:
                log.seek(0)
                said = log.read().decode(errors="replace")[-2000:]
                raise click.ClickException(f"{command[0]} does not start:\n{said}")
            yield Served(int(announced.rpartition(":")[2]), process.pid)
        finally:
            process.kill()


def drive(served: Served, dialogue: Dialogue, matches: int, seconds: float) -> Load:
    """Play so many matches at once for a while; each that ends is followed by the next."""
    with (
        cores_apart(served.pid),
        selectors.DefaultSelector() as selector,
        contextlib.ExitStack() as stack,
    ):
        players = [_connect(served, number, stack) for number in range(2 * matches)]
        for player in players:
            selector.register(player.line, selectors.EVENT_READ, player)
            for message in dialogue.opening(player):
                player.send(message, time.perf_counter())
        warm_at = time.perf_counter() + seconds * WARM_UP
        _exchange(selector, dialogue, warm_at)
        load = Load()
        started = time.perf_counter(), processor_seconds(served.pid), time.process_time()
        _exchange(selector, dialogue, started[0] + seconds, load.latencies_s.append)
        load.seconds = time.perf_counter() - started[0]
        load.server_s = processor_seconds(served.pid) - started[1]
        load.client_s = time.process_time() - started[2]
        return load


def _connect(served: Served, number: int, stack: contextlib.ExitStack) -> Player:
    line = stack.enter_context(socket.create_connection(("127.0.0.1", served.port)))
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    line.settimeout(None)
    return Player(number, line)


def _exchange(
    selector: selectors.BaseSelector,
    dialogue: Dialogue,
    until: float,
    record: Callable[[float], object] = lambda latency_s: None,
) -> None:
    """Answer what comes until that time; `record` gets the latency of each move."""
    while (now := time.perf_counter()) < until:
        ready = selector.select(SILENCE_S)
        if not ready:
            raise click.ClickException(f"the server said nothing for {SILENCE_S:g} seconds")
        for key, _ in ready:
            player: Player = key.data
            for message in player.received():
                now = time.perf_counter()
                if player.sent_at and "ply" in message:
                    record(now - player.sent_at)
                    player.sent_at = 0.0
                if reply := dialogue.answer(player, message):
                    player.send(reply, now)
