"""Many players at once as a load on a server, and measurements of the server meanwhile.

The players run in this process with as little work as possible: one select, one read and one
decoded map per frame, and a random legal action as the answer. They play as fast as possible
(`drive`), or at moments that do not depend on the speed of the server (`pace`).
"""

from __future__ import annotations

import contextlib
import itertools
import random
import selectors
import socket
import ssl
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import click
import msgpack

from testbed.bench import Cell, Column
from testbed.machine import cores_apart, processor_seconds
from testbed.measure import Sample, percentile
from testbed.server_process import ServerProcess

Message = dict[str, Any]

#: Longest time without a message before the run fails.
SILENCE_S = 20.0
#: Time before the measurement starts, as a share of its length.
WARM_UP = 0.25
#: Number of connections that are opened before any of them waits for its welcome.
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
    """The messages of a player to a Playout server; subclasses define other ones."""

    def __init__(self, game: str) -> None:
        self._seek: Message = {"type": "seek", "game": game}
        self._choose = random.Random(1).choice

    def greet(self, players: Sequence[TrafficPlayer]) -> None:
        """Send `hello` for all players, and wait for their welcomes. Raises ClickException."""
        for player in players:
            player.send(HELLO | {"name": player.name})
        for player in players:
            player.receive("welcome")

    def opening(self, player: TrafficPlayer) -> list[Message]:
        """Return the first messages after the welcome."""
        return [self.seek(player)]

    def seek(self, player: TrafficPlayer) -> Message:
        """Return a seek for any opponent."""
        return self._seek

    def answer(self, player: TrafficPlayer, message: Message) -> Message | None:
        """Return the answer to a message: a move on the player's turn, a seek after a match."""
        kind = message["type"]
        if kind == "started":
            player.seat, ply = message["seat"], len(message["moves"])
        elif kind == "update":
            ply = message["ply"] + 1
        elif kind == "error":
            raise click.ClickException(f"the server rejected a request: {message['text']}")
        else:
            return self.seek(player) if kind == "ended" else None
        if message["to_move"] != player.seat:
            return None
        return self.move(message["match"], ply, message["legal_actions"])

    def move(self, match: str, ply: int, actions: Sequence[int]) -> Message:
        """Return a move with a random legal action."""
        return {
            "type": "move",
            "match": match,
            "ply": ply,
            "action": self._choose(actions),
            "id": ply,
        }


class RelayDialogue(Dialogue):
    """The dialogue of the same players with a relay, which returns what they send."""

    def greet(self, players: Sequence[TrafficPlayer]) -> None:
        """Send no greeting; a relay expects none."""

    def opening(self, player: TrafficPlayer) -> list[Message]:
        """Return the first move, for the first player of each pair."""
        return [] if player.number % 2 else [self.move("0123456789", 0, range(7))]

    def answer(self, player: TrafficPlayer, message: Message) -> Message | None:
        """Return the next move, if the last one was the opponent's."""
        ply = message["ply"] + 1
        if ply % 2 != player.number % 2:
            return None
        return self.move(message["match"], ply, range(7))


@dataclass
class TrafficPlayer:
    """One player with its connection."""

    number: int
    name: str
    connection: socket.socket
    seat: int = 0
    unread: bytes = b""
    sent_at: float = 0.0
    #: Messages that have arrived and were not returned by `receive`.
    inbox: deque[Message] = field(default_factory=deque)

    def send(self, message: Message, now: float = 0.0) -> None:
        """Send a message; the time of a move is recorded."""
        frame = msgpack.packb(message)
        if message["type"] == "move":
            self.sent_at = now
        self.connection.sendall(struct.pack(">I", len(frame)) + frame)

    def receive(self, kind: str, skip: Callable[[Message], object] = lambda each: None) -> Message:
        """Wait for a message of that type, and return it; `skip` gets those before it.

        Raises ClickException for an error.
        """
        while True:
            while not self.inbox:
                self.inbox.extend(self.received())
            message = self.inbox.popleft()
            if message["type"] == kind:
                return message
            if message["type"] == "error":
                raise click.ClickException(f"the server refuses {self.name!r}: {message['text']}")
            skip(message)

    def received(self) -> Iterator[Message]:
        """Return the messages of one read. Raises ClickException at the end of the connection."""
        data = self.connection.recv(65536)
        if not data:
            raise click.ClickException("the server ended a connection")
        payloads, self.unread = split(self.unread + data)
        return map(msgpack.unpackb, payloads)


def split(data: bytes) -> tuple[list[bytes], bytes]:
    """Return the payloads of the complete frames in the data, and the bytes after them."""
    payloads, start = [], 0
    while len(data) >= start + 4:
        end = start + 4 + int.from_bytes(data[start : start + 4], "big")
        if len(data) < end:
            break
        payloads.append(data[start + 4 : end])
        start = end
    return payloads, data[start:]


@dataclass
class Load:
    """The measurement of a load over `seconds`."""

    seconds: float = 0.0
    #: CPU seconds of the server, of its main thread, of the rest (other threads and the storage
    #: process), and of this process.
    server_s: float = 0.0
    loop_s: float = 0.0
    storage_s: float = 0.0
    client_s: float = 0.0
    #: Time from each move to the update that its player receives.
    latencies_s: list[float] = field(default_factory=list)

    @property
    def moves(self) -> int:
        """Number of moves that were answered."""
        return len(self.latencies_s)


def rates(loads: Sequence[Load]) -> Sample:
    """Return the moves per second of each load."""
    return Sample(load.moves / load.seconds for load in loads)


def cpu_us(loads: Sequence[Load]) -> Sample:
    """Return the CPU time of the server per move in each load, in microseconds."""
    return Sample(load.server_s / max(1, load.moves) * 1e6 for load in loads)


def latency_ms(loads: Sequence[Load], percent: float) -> Sample:
    """Return a percentile of the latencies of each load, in milliseconds."""
    return Sample(percentile(load.latencies_s, percent) * 1e3 for load in loads)


def busy(loads: Sequence[Load]) -> dict[str, Sample]:
    """Return the cells with the load of the server's threads and of this process."""
    return {
        "loop_busy": Sample(load.loop_s / load.seconds for load in loads),
        "storage_busy": Sample(load.storage_s / load.seconds for load in loads),
        "players_busy": Sample(load.client_s / load.seconds for load in loads),
    }


def speed(loads: Sequence[Load]) -> dict[str, Sample]:
    """Return the cells with moves per second, CPU time, load and latency."""
    return {
        "moves": rates(loads),
        "cpu_us": cpu_us(loads),
        "busy": Sample(load.server_s / load.seconds for load in loads),
        **busy(loads),
        "p50_ms": latency_ms(loads, 50),
        "p99_ms": latency_ms(loads, 99),
    }


#: The columns that `effects` fills.
EFFECTS = (
    Column("latency", "latency"),
    Column("without_ms", "without, ms", ".2f"),
    Column("within_ms", "with, ms", ".2f"),
    Column("ratio", "ratio", ".2f"),
)


def effects(without: Sequence[Load], within: Sequence[Load]) -> dict[int, dict[str, Cell]]:
    """Return the cells about the latency in rounds without and with something, by percentile."""
    found: dict[int, dict[str, Cell]] = {}
    for percent in (50, 99):
        bare, disturbed = latency_ms(without, percent), latency_ms(within, percent)
        found[percent] = {
            "latency": f"{percent} %",
            "without_ms": bare,
            "within_ms": disturbed,
            "ratio": disturbed.over(bare),
        }
    return found


def drive(
    served: ServerProcess, dialogue: Dialogue, matches: int, seconds: float, *, apart: bool = True
) -> Load:
    """Play `matches` matches at once for `seconds`; each match is followed by the next.

    With `apart`, the server and this process run on different cores.
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
def playing(
    served: ServerProcess, dialogue: Dialogue, count: int
) -> Iterator[selectors.BaseSelector]:
    """Connect `count` players for the block, and send their first messages."""
    with selectors.DefaultSelector() as selector, connected(served, dialogue, count) as players:
        for player in players:
            selector.register(player.connection, selectors.EVENT_READ, player)
            for message in dialogue.opening(player):
                player.send(message, time.perf_counter())
        yield selector


@contextlib.contextmanager
def connected(
    served: ServerProcess, dialogue: Dialogue, count: int
) -> Iterator[list[TrafficPlayer]]:
    """Connect `count` players until the end of the block."""
    with contextlib.ExitStack() as stack:
        players: list[TrafficPlayer] = []
        while len(players) < count:
            numbers = range(len(players), min(len(players) + AT_ONCE, count))
            newcomers = [
                connect(served.port, number, f"player {next(_newcomers)}", stack)
                for number in numbers
            ]
            dialogue.greet(newcomers)
            for player in newcomers:
                # With a timeout, each read and write would be two system calls.
                player.connection.settimeout(None)
            players += newcomers
        yield players


@contextlib.contextmanager
def measured(served: ServerProcess, load: Load) -> Iterator[None]:
    """Record in `load` the time of the block and the CPU time of both processes."""
    started = time.perf_counter(), time.process_time()
    server_s, loop_s = processor_seconds(served.pid), processor_seconds(served.pid, loop=True)
    yield
    load.seconds = time.perf_counter() - started[0]
    load.client_s = time.process_time() - started[1]
    load.server_s = processor_seconds(served.pid) - server_s
    load.loop_s = processor_seconds(served.pid, loop=True) - loop_s
    load.storage_s = max(0.0, load.server_s - load.loop_s)  # they were not read at the same time


def replies(
    selector: selectors.BaseSelector,
    dialogue: Dialogue,
    timeout_s: float,
    record: Callable[[float], object],
) -> Iterator[tuple[TrafficPlayer, Message, float]]:
    """Yield the answers to messages that arrive within `timeout_s`; `record` gets each latency."""
    for key, _ in selector.select(timeout_s):
        player: TrafficPlayer = key.data
        for message in player.received():
            now = time.perf_counter()
            if player.sent_at and "ply" in message:
                record(now - player.sent_at)
                player.sent_at = 0.0
            if reply := dialogue.answer(player, message):
                yield player, reply, now


def connect(
    port: int,
    number: int,
    name: str,
    stack: contextlib.ExitStack,
    *,
    address: tuple[str, int] | None = None,
    tls: bool = False,
) -> TrafficPlayer:
    """Connect a player until the stack is closed, from an `address` if one is given.

    With `tls`, any certificate is accepted.
    """
    connection = socket.create_connection(("127.0.0.1", port), SILENCE_S, source_address=address)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if tls:
        connection = ssl._create_unverified_context().wrap_socket(connection)
    return TrafficPlayer(number, name, stack.enter_context(connection))


def _exchange(
    selector: selectors.BaseSelector,
    dialogue: Dialogue,
    until: float,
    record: Callable[[float], object] = lambda latency_s: None,
) -> None:
    """Answer messages until that time; `record` gets the latency of each move."""
    received_at = now = time.perf_counter()
    while now < until:
        for player, reply, now in replies(selector, dialogue, SILENCE_S, record):
            received_at = now
            player.send(reply, now)
        now = time.perf_counter()
        if now - received_at > SILENCE_S:
            raise click.ClickException(f"no message of the server for {SILENCE_S:g} seconds")


# Many matches at a steady pace: one move per second each, or more, at fixed moments.


#: Seconds before the measurement of paced matches starts.
PACED_WARM_UP_S = 3.0


class PairedDialogue(Dialogue):
    """A dialogue in which the same two players meet again and again, in the same seats."""

    def seek(self, player: TrafficPlayer) -> Message:
        """Return a seek for the neighbouring player only."""
        first = player.number % 2 == 0
        partner = int(player.name.split()[1]) + (1 if first else -1)
        return self._seek | {"seat": 1 if first else 2, "opponent": f"player {partner}"}


@dataclass
class PacedLoad(Load):
    """The measurement of a paced load, including the punctuality of this process."""

    #: Delay of each move after its moment.
    late_s: list[float] = field(default_factory=list)
    #: Moments without a move: the match has ended, or its last move has no answer yet.
    empty: int = 0


def pace(
    served: ServerProcess,
    game: str,
    matches: int,
    seconds: float,
    *,
    move_s: float = 1.0,
    dialogue: PairedDialogue | None = None,
) -> PacedLoad:
    """Play `matches` matches at once, with `move_s` seconds from a move of each to the next.

    The moves of all matches are spread evenly over this time.
    """
    dialogue = dialogue or PairedDialogue(game)
    with playing(served, dialogue, 2 * matches) as selector:
        pacer = _Pacer(selector, dialogue, matches, move_s)
        pacer.run(PACED_WARM_UP_S, PacedLoad())
        paced = PacedLoad()
        with measured(served, paced):
            pacer.run(seconds, paced)
        return paced


class _Pacer:
    """Holds each move until the next moment of its match."""

    def __init__(
        self, selector: selectors.BaseSelector, dialogue: Dialogue, matches: int, move_s: float
    ) -> None:
        self._selector = selector
        self._dialogue = dialogue
        self._matches = matches
        self._step_s = move_s / matches
        self._held: dict[int, tuple[TrafficPlayer, Message]] = {}
        self._next = 0  # the match with the next moment
        self._moment = time.perf_counter()

    def run(self, seconds: float, paced: PacedLoad) -> None:
        """Send moves for that many seconds, and record them in `paced`."""
        until = self._moment + seconds
        while self._moment < until:
            self._listen(paced)
            while self._moment <= (now := time.perf_counter()):
                self._move(now, paced)

    def _listen(self, paced: PacedLoad) -> None:
        """Receive messages until the next moment."""
        wait_s = max(0.0, self._moment - time.perf_counter())
        record = paced.latencies_s.append
        for player, reply, now in replies(self._selector, self._dialogue, wait_s, record):
            if reply["type"] == "move":
                self._held[player.number // 2] = player, reply
            else:
                player.send(reply, now)

    def _move(self, now: float, paced: PacedLoad) -> None:
        """Send the held move, if any, of the match whose moment has come."""
        if held := self._held.pop(self._next, None):
            player, move = held
            player.send(move, now)
            paced.late_s.append(now - self._moment)
        else:
            paced.empty += 1
        self._next = (self._next + 1) % self._matches
        self._moment += self._step_s
