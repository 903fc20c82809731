"""Scripted clients that play at random, are disconnected, reconnect, and record what they receive.

They share no code with the server but MessagePack, and follow `docs/protocol.md`.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
import struct
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgpack

from support.waiting import PATIENCE_S

Message = dict[str, Any]

GAMES = ("tic_tac_toe", "connect_four", "nim", "othello(size=4)", "pig(winscore=20)")
#: Matches that a client plays or seeks at once.
CONCURRENT_MATCHES = 3
#: Longest delay before a move, and before a reconnection.
THINK_S, AWAY_S = 0.1, 0.3
#: Probability that a move is sent twice, and of a disconnection after a move or an update.
TWICE, CUT = 0.05, 0.01
#: Seconds between two measurements of the delays of this process.
TICK_S = 0.005


class WaitTimeout(Exception):
    """Raised if no client receives a message within PATIENCE_S while an event is expected."""


class ScriptedConnection:
    """One TCP connection of a scripted client."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, opened_at: float
    ) -> None:
        self.opened_at = opened_at
        self._reader = reader
        self._writer = writer

    @classmethod
    async def to(cls, port: int) -> ScriptedConnection:
        """Open a connection to a port of this machine. Raises OSError."""
        opened_at = time.monotonic()
        return cls(*await asyncio.open_connection("127.0.0.1", port), opened_at)

    def send(self, kind: str, **fields: Any) -> None:
        """Send a request of type `kind`, with its type as `id`."""
        if not self._writer.is_closing():
            frame = msgpack.packb({"type": kind, "id": kind} | fields)
            self._writer.write(struct.pack(">I", len(frame)) + frame)

    async def receive(self) -> Message:
        """Return the next event. Raises EOFError or OSError when the connection has ended."""
        (length,) = struct.unpack(">I", await self._reader.readexactly(4))
        message: Message = msgpack.unpackb(await self._reader.readexactly(length))
        return message

    def abort(self) -> None:
        """Abort the connection; unsent data is discarded."""
        self._writer.transport.abort()


@dataclass
class ReceivedMatch:
    """The messages that a client received about a match; `moves` are the actions by ply.

    `commitment` is that of the rolls, in a game with chance.
    """

    match: str
    client: str
    game: str
    players: tuple[str, str]
    seat: int
    moves: list[int]
    ended: Message | None = None
    commitment: str | None = None
    #: When the client sent each of its moves first, by ply, and when it sought the match, as -1.
    sent_at: dict[int, float] = field(default_factory=dict)
    #: When the end was received.
    ended_at: float = math.inf


class ScriptedClient:
    """A client that plays at random, over one connection after the other."""

    def __init__(self, group: ScriptedClients, number: int, guest: bool) -> None:
        self.name = f"{'guest' if guest else 'member'} {number}"
        self.records: dict[str, ReceivedMatch] = {}
        #: Whether the server last reported that its storage is down.
        self.storage_down = False
        self._group = group
        self._guest = guest
        self._draw = random.Random(number)
        self._session: str | None = None
        self._token: str | None = None
        self._connection: ScriptedConnection | None = None
        self._playing: set[str] = set()
        #: The last ply and action that were sent.
        self._sent: dict[str, tuple[int, int]] = {}
        self._reset()

    def _reset(self) -> None:
        """Reset the state of a connection."""
        #: Whether all messages that follow `welcome` have been received.
        self.ready = False
        self.storage_down = False
        self._announced: set[str] = set()
        #: The games that it seeks, and when each seek was sent.
        self._seeking: list[tuple[str, float]] = []
        self._seeks_unanswered = 0

    @property
    def idle(self) -> bool:
        """Whether it is connected, without a match and without an unanswered seek."""
        return self.ready and not self._playing and not self._seeks_unanswered

    async def run(self) -> None:
        """Connect, and reconnect after each disconnection, until cancelled."""
        while True:
            with contextlib.suppress(OSError, EOFError):
                await self._handle_connection(await ScriptedConnection.to(self._group.port))
            self._connection = None
            self._reset()
            await asyncio.sleep(self._draw.uniform(0, AWAY_S))

    def send(self, kind: str, **fields: Any) -> None:
        """Send a request, if connected."""
        if self._connection:
            self._connection.send(kind, **fields)

    async def _handle_connection(self, connection: ScriptedConnection) -> None:
        self._connection = connection
        self._hello()
        try:
            while self._connection:
                self._handle(await connection.receive(), connection)
                self._group.changed.set()
        finally:
            connection.abort()

    def _hello(self) -> None:
        self.send(
            "hello",
            protocol_min=1,
            protocol_max=1,
            name=self.name,
            guest=self._guest,
            token=self._token,
            session=self._session,
            legal_actions=True,
        )

    def _handle(self, message: Message, connection: ScriptedConnection) -> None:
        match message["type"]:
            case "welcome":
                self._welcome(message, connection)
            case "pong":
                self._synchronized()
            case "seeking":
                self._seeks_unanswered -= "re" in message
            case "started":
                self._started(message)
            case "update":
                self._update(message)
            case "ended":
                self._ended(message)
            case "error":
                self._handle_error(message)
            case "notice":
                self.storage_down = message["code"] == "storage_down"
            case "listing":
                self._group.listed = len(message["matches"])
            case "ping":
                self.send("ping")

    def _welcome(self, message: Message, connection: ScriptedConnection) -> None:
        self._session = message["session"]
        self._token = message.get("token", self._token)
        self._group.welcomed(connection)
        self.send("ping")

    def _synchronized(self) -> None:
        for match in self._playing - self._announced:
            self._fault(f"match {match} is not announced after the reconnection")
        self._playing &= self._announced
        self.ready = True
        self._seek()

    def _seek(self) -> None:
        """Seek opponents until CONCURRENT_MATCHES are played or sought."""
        while (
            self.ready
            and self._group.wants_more()
            and len(self._seeking) + len(self._playing) < CONCURRENT_MATCHES
        ):
            game = self._draw.choice(self._group.games)
            self._seeking.append((game, time.monotonic()))
            self._seeks_unanswered += 1
            self.send("seek", game=game, clock=self._group.clock)

    def _started(self, message: Message) -> None:
        match, moves = message["match"], message["moves"]
        self._announced.add(match)
        if match not in self.records:
            self.records[match] = ReceivedMatch(
                match=match,
                client=self.name,
                game=message["game"],
                players=tuple(message["players"]),
                seat=message["seat"],
                moves=moves,
                commitment=message.get("commitment"),
            )
            self._playing.add(match)
            self._group.started_matches.add(match)
            if sought := [each for each in self._seeking if each[0] == message["game"]]:
                self._seeking.remove(sought[0])
                self.records[match].sent_at[-1] = sought[0][1]
        record = self.records[match]
        if record.ended:
            self._fault(f"match {match} continues after its end")
        if moves[: len(record.moves)] != record.moves:
            self._fault(f"match {match} had the moves {record.moves}, and now has {moves}")
        if message.get("commitment") != record.commitment:
            self._fault(f"match {match} has another commitment than {record.commitment}")
        record.moves = moves
        self._schedule_move(message, len(moves))

    def _update(self, message: Message) -> None:
        match, ply = message["match"], message["ply"]
        played = [message["action"], *message.get("rolls", ())]
        moves = self.records[match].moves
        if ply > len(moves):
            self._fault(f"match {match} is at ply {len(moves)}, and move {ply} is announced")
        elif ply < len(moves):  # the answer to a move that was sent twice
            if (before := moves[ply : ply + len(played)]) != played:
                self._fault(f"move {ply} of match {match} was {before}, and is now {played}")
        else:
            if self.storage_down:
                self._fault(f"move {ply} of match {match} is announced while storage is down")
            moves += played
            self._schedule_move(message, len(moves))
            self._maybe_disconnect()

    def _schedule_move(self, message: Message, ply: int) -> None:
        """Schedule a move if it is this client's turn; an action that was sent is sent again."""
        match = message["match"]
        if message["to_move"] != self.records[match].seat:
            return
        if self._sent.get(match, (-1, -1))[0] != ply:
            self._sent[match] = ply, self._draw.choice(message["legal_actions"])
        asyncio.get_running_loop().call_later(
            self._draw.uniform(0, self._group.think_s), self._move, self._connection, match
        )

    def _move(self, connection: ScriptedConnection | None, match: str) -> None:
        if connection is None or connection is not self._connection:
            return
        ply, action = self._sent[match]
        twice = self._draw.random() < TWICE
        self._group.twice += twice
        self.records[match].sent_at.setdefault(ply, time.monotonic())
        for _ in range(1 + twice):
            connection.send("move", match=match, ply=ply, action=action)
        self._maybe_disconnect()

    def _ended(self, message: Message) -> None:
        match = message["match"]
        record = self.records.get(match)
        if record is None:
            self._fault(f"match {match} ends, but its start was not announced")
        elif record.ended is None:
            record.ended, record.ended_at = message, time.monotonic()
            self._announced.add(match)
            self._playing.discard(match)
            self._group.ends[match] += 1
            self._seek()
        elif record.ended != message:
            self._fault(f"match {match} ended with {record.ended}, and now with {message}")

    def _handle_error(self, message: Message) -> None:
        request, code = message.get("re"), message["code"]
        if request == "hello" and code == "unknown_session" and self._session:
            self._session = None  # a session without a match ends with its connection
            self._hello()
        elif request == "hello" and code == "name_taken" and not self._session:
            self.name += " again"  # the name was registered, but the welcome was lost
            self._hello()
        elif request != "move" or code != "match_over":  # a late move is no fault
            self._fault(f"refused: {message}")

    def _maybe_disconnect(self) -> None:
        if self._connection and not self._group.calm and self._draw.random() < CUT:
            self._group.cuts += 1
            self._connection.abort()
            self._connection = None

    def _fault(self, text: str) -> None:
        self._group.faults.append(f"{self.name}: {text}")


class ScriptedClients:
    """Clients that play a number of matches against each other at the server on a port.

    `faults` describes the wrong messages that they received.
    """

    def __init__(
        self,
        port: int,
        clients: int,
        matches: int,
        *,
        clock: str = "none",
        think_s: float = THINK_S,
        calm: bool = False,
        games: Sequence[str] = GAMES,
    ) -> None:
        """`think_s`: longest delay before a move. `calm`: no random disconnections."""
        self.port = port
        self.games = games
        self.clock = clock
        self.think_s = think_s
        self.cuts = self.twice = 0
        self.faults: list[str] = []
        #: Whether random disconnections have stopped.
        self.calm = calm
        #: Whether clients keep starting matches, beyond the requested number.
        self.busy = True
        self.started_matches: set[str] = set()
        #: The number of clients that received the end of each match.
        self.ends: Counter[str] = Counter()
        self.changed = asyncio.Event()
        #: The times in which the loop of the clients did not run, or later than it should.
        self.delays: list[tuple[float, float]] = []
        #: Number of running matches in the server's last `listing`.
        self.listed: int | None = None
        self._matches = matches
        # The start of the server, and the first welcome on a connection that was opened later.
        self._started_at = 0.0
        self._welcomed_at: float | None = None
        self.clients = [ScriptedClient(self, number, number % 2 == 0) for number in range(clients)]

    def wants_more(self) -> bool:
        """Return whether clients should start more matches."""
        return self.busy or len(self.started_matches) < self._matches

    @property
    def ended(self) -> int:
        """Number of matches whose end both players have received."""
        return sum(count == 2 for count in self.ends.values())

    @property
    def running(self) -> int:
        """Number of matches that have started and not ended."""
        return len(self.started_matches) - self.ended

    @property
    def records(self) -> list[ReceivedMatch]:
        """The records of all matches of all clients."""
        return [record for client in self.clients for record in client.records.values()]

    @contextlib.asynccontextmanager
    async def playing(self) -> AsyncIterator[None]:
        """Run the clients until the end of the block."""
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(client.run()) for client in self.clients]
            running.append(tasks.create_task(self._measure_delays()))
            try:
                yield
            finally:
                for task in running:
                    task.cancel()

    async def _measure_delays(self) -> None:
        while True:
            began = time.monotonic()
            await asyncio.sleep(TICK_S)
            if (woke := time.monotonic()) > began + 1.5 * TICK_S:
                self.delays.append((began, woke))

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for a condition on the received messages. Raises WaitTimeout."""
        try:
            while not condition():
                self.changed.clear()
                async with asyncio.timeout(PATIENCE_S):
                    await self.changed.wait()
        except TimeoutError:
            text = f"no message came for {PATIENCE_S:g} s while the clients waited for {what}"
            raise WaitTimeout(text) from None

    async def until_ended(self, matches: float) -> None:
        """Wait until that number of matches has ended. Raises WaitTimeout."""
        await self.until(lambda: self.ended >= matches, f"{matches:.0f} matches to end")

    def welcomed(self, connection: ScriptedConnection) -> None:
        """Record that a client was welcomed on a connection."""
        if self._welcomed_at is None and connection.opened_at > self._started_at:
            self._welcomed_at = time.monotonic()

    async def until_welcomed(self, started_at: float) -> float:
        """Wait for a welcome of the server started at `started_at`; return the seconds it took."""
        self._started_at, self._welcomed_at = started_at, None
        await self.until(lambda: self._welcomed_at is not None, "a welcome by the server")
        assert self._welcomed_at
        return self._welcomed_at - started_at

    async def until_all(self, holds: Callable[[ScriptedClient], bool], what: str) -> None:
        """Wait until `holds` is true for every client. Raises WaitTimeout."""
        await self.until(lambda: all(map(holds, self.clients)), f"all clients {what}")

    async def finish(self) -> None:
        """Start no more than the requested matches, and wait for the end of all."""
        self.busy = False
        await self.until_ended(self._matches)
        while self.listed != 0:  # a match may have started that no client has been sent yet
            await self.until_all(lambda client: client.idle, "to have played their matches")
            self.calm, self.listed = True, None
            self.clients[0].send("list")
            await self.until(lambda: self.listed is not None, "a listing")
