"""A process that serves matches, and many players at once who keep it busy.

The players run in this process and do as little as they can: one select, one read and one decoded
map a frame, and a random legal action as the answer.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import selectors
import socket
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import click
import msgpack

from testbed.machine import cores_apart, processor_seconds
from testbed.serving import Served

Message = dict[str, Any]

#: Nothing for so long, and something is wrong.
SILENCE_S = 20.0
#: The share of the time that goes by before anything counts.
WARM_UP = 0.25
#: So many connections are opened before any of them waits for its welcome.
AT_ONCE = 100

HELLO: Message = {
    "type": "hello",
    "protocol_min": 1,
    "protocol_max": 1,
    "guest": True,
    "legal_actions": True,
}

_newcomers = itertools.count(1)


class Dialogue:
    """What a player says. This is one of the real server; a subclass may speak to another."""

    def __init__(self, game: str) -> None:
        self._seek: Message = {"type": "seek", "game": game}
        self._choose = random.Random(1).choice

    def greet(self, players: Sequence[TrafficPlayer]) -> None:
        """Say who one is, and be welcome."""
        for player in players:
            player.send(HELLO | {"name": player.name}, 0.0)
        for player in players:
            if player.hear()["type"] != "welcome":
                raise click.ClickException(f"the server does not let {player.name!r} in")

    def opening(self, player: TrafficPlayer) -> list[Message]:
        """At first, once one is welcome: what one wants."""
        return [self.seek(player)]

    def seek(self, player: TrafficPlayer) -> Message:
        """An opponent: whoever comes."""
        return self._seek

    def answer(self, player: TrafficPlayer, message: Message) -> Message | None:
        """To a message, with a move where it is one's turn."""
        kind = message["type"]
        if kind == "started":
            player.seat, ply = message["seat"], len(message["moves"])
        elif kind == "update":
            ply = message["ply"] + 1
        elif kind == "error":
            raise click.ClickException(f"the server refused something: {message['text']}")
        else:
            return self.seek(player) if kind == "ended" else None
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

    def greet(self, players: Sequence[TrafficPlayer]) -> None:
        """Nobody asks."""

    def opening(self, player: TrafficPlayer) -> list[Message]:
        """The first of each pair makes the first move."""
        return [] if player.number % 2 else [self.move("0123456789", 0, range(7))]

    def answer(self, player: TrafficPlayer, message: Message) -> Message | None:
        """The next move, if the last one was the other's."""
        ply = message["ply"] + 1
        if ply % 2 != player.number % 2:
            return None
        return self.move(message["match"], ply, range(7))


@dataclass
class TrafficPlayer:
    """One connection."""

    number: int
    name: str
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

    def hear(self) -> Message:
        """The only thing that was said to it, once it is there."""
        while not (heard := list(self.received())):
            pass
        (message,) = heard
        return message

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
    #: Of the processors: the server, its main thread, all else of it, which stores; this process.
    server_s: float = 0.0
    loop_s: float = 0.0
    storage_s: float = 0.0
    client_s: float = 0.0
    #: From each move to its mover's copy of the update.
    latencies_s: list[float] = field(default_factory=list)

    @property
    def moves(self) -> int:
        """How many were made."""
        return len(self.latencies_s)


def drive(
    served: Served, dialogue: Dialogue, matches: int, seconds: float, *, apart: bool = True
) -> Load:
    """Play so many matches at once for a while; each that ends is followed by the next.

    With `apart`, the server and this process have different cores.
    """
    cores = cores_apart(served.pid) if apart else contextlib.nullcontext()
    with cores, playing(served, dialogue, 2 * matches) as selector:
        _exchange(selector, dialogue, time.perf_counter() + seconds * WARM_UP)
        load = Load()
        with measured(served, load):
            until = time.perf_counter() + seconds
            _exchange(selector, dialogue, until, load.latencies_s.append)
        return load


@contextlib.contextmanager
def playing(served: Served, dialogue: Dialogue, count: int) -> Iterator[selectors.BaseSelector]:
    """So many players who are welcome and have said what they want, until the end of the block."""
    with selectors.DefaultSelector() as selector, connected(served, dialogue, count) as players:
        for player in players:
            selector.register(player.line, selectors.EVENT_READ, player)
            for message in dialogue.opening(player):
                player.send(message, time.perf_counter())
        yield selector


@contextlib.contextmanager
def connected(served: Served, dialogue: Dialogue, count: int) -> Iterator[list[TrafficPlayer]]:
    """So many who are welcome, until the end of the block."""
    with contextlib.ExitStack() as stack:
        players: list[TrafficPlayer] = []
        while len(players) < count:
            numbers = range(len(players), min(len(players) + AT_ONCE, count))
            newcomers = [_connect(served, number, stack) for number in numbers]
            dialogue.greet(newcomers)
            for player in newcomers:
                player.line.settimeout(None)  # with one, each read and write is two system calls
            players += newcomers
        yield players


@contextlib.contextmanager
def measured(served: Served, load: Load) -> Iterator[None]:
    """Note how long the block took, and what both processes used meanwhile."""
    started = time.perf_counter(), time.process_time()
    server_s, loop_s = processor_seconds(served.pid), processor_seconds(served.pid, loop=True)
    yield
    load.seconds = time.perf_counter() - started[0]
    load.client_s = time.process_time() - started[1]
    load.server_s = processor_seconds(served.pid) - server_s
    load.loop_s = processor_seconds(served.pid, loop=True) - loop_s
    load.storage_s = max(0.0, load.server_s - load.loop_s)  # they were not read at once


def replies(
    selector: selectors.BaseSelector,
    dialogue: Dialogue,
    timeout_s: float,
    record: Callable[[float], object],
) -> Iterator[tuple[TrafficPlayer, Message, float]]:
    """What is said by whom to all that came within that time; `record` gets each latency."""
    for key, _ in selector.select(timeout_s):
        player: TrafficPlayer = key.data
        for message in player.received():
            now = time.perf_counter()
            if player.sent_at and "ply" in message:
                record(now - player.sent_at)
                player.sent_at = 0.0
            if reply := dialogue.answer(player, message):
                yield player, reply, now


def _connect(served: Served, number: int, stack: contextlib.ExitStack) -> TrafficPlayer:
    line = stack.enter_context(socket.create_connection(("127.0.0.1", served.port)))
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    line.settimeout(SILENCE_S)
    return TrafficPlayer(number, f"player {next(_newcomers)}", line)


def _exchange(
    selector: selectors.BaseSelector,
    dialogue: Dialogue,
    until: float,
    record: Callable[[float], object] = lambda latency_s: None,
) -> None:
    """Answer what comes until that time; `record` gets the latency of each move."""
    heard_at = now = time.perf_counter()
    while now < until:
        for player, reply, now in replies(selector, dialogue, SILENCE_S, record):
            heard_at = now
            player.send(reply, now)
        now = time.perf_counter()
        if now - heard_at > SILENCE_S:
            raise click.ClickException(f"the server said nothing for {SILENCE_S:g} seconds")
