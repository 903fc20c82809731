"""Scripted clients that play at random, are cut off, come back, and note what they are told.

They share no code with the server but MessagePack, and do what `docs/protocol.md` says.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import struct
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import msgpack

Message = dict[str, Any]

GAMES = ("tic_tac_toe", "connect_four", "nim", "othello(size=4)")
#: Matches that a client plays or seeks at once.
SIDE_BY_SIDE = 3
#: At most, before a move, and before coming back.
THINK_S, AWAY_S = 0.1, 0.3
#: How likely a move is sent twice, and a client cut off after a move or an update.
TWICE, CUT = 0.05, 0.01
#: What is waited for happens within that, or never.
PATIENCE_S = 60.0


class CrowdStuck(Exception):
    """What was waited for did not happen."""


class CrowdConnection:
    """One connection."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, opened_at: float
    ) -> None:
        self.opened_at = opened_at
        self._reader = reader
        self._writer = writer

    @classmethod
    async def to(cls, port: int) -> CrowdConnection:
        """Raises OSError."""
        opened_at = time.monotonic()
        return cls(*await asyncio.open_connection("127.0.0.1", port), opened_at)

    def say(self, kind: str, **fields: Any) -> None:
        """A request, with its type as `id`."""
        if not self._writer.is_closing():
            frame = msgpack.packb({"type": kind, "id": kind} | fields)
            self._writer.write(struct.pack(">I", len(frame)) + frame)

    async def hear(self) -> Message:
        """The next event. Raises EOFError or OSError when there will be none."""
        (length,) = struct.unpack(">I", await self._reader.readexactly(4))
        message: Message = msgpack.unpackb(await self._reader.readexactly(length))
        return message

    def cut(self) -> None:
        """End it at once: what was not sent yet never will be."""
        self._writer.transport.abort()


@dataclass
class Notes:
    """What a client was told of a match; `moves` are the actions by ply."""

    match: str
    client: str
    game: str
    players: tuple[str, str]
    seat: int
    moves: list[int]
    ended: Message | None = None


class Client:
    """Somebody who plays, over one line after the other."""

    def __init__(self, crowd: Crowd, number: int, guest: bool) -> None:
        self.name = f"{'guest' if guest else 'member'} {number}"
        self.notes: dict[str, Notes] = {}
        #: Is the server's storage down, as far as it was told?
        self.down = False
        self._crowd = crowd
        self._guest = guest
        self._draw = random.Random(f"{crowd.seed} {number}")
        self._session: str | None = None
        self._token: str | None = None
        self._line: CrowdConnection | None = None
        self._playing: set[str] = set()
        #: The last ply and action that were sent.
        self._sent: dict[str, tuple[int, int]] = {}
        self._begin()

    def _begin(self) -> None:
        """What counts for one line only."""
        #: Has all been said that was to be said after `welcome`?
        self.here = False
        self.down = False
        self._told: set[str] = set()
        self._seeking: list[str] = []
        self._seeks_unanswered = 0

    @property
    def at_rest(self) -> bool:
        """Is it here, with no match, and no seek on its way?"""
        return self.here and not self._playing and not self._seeks_unanswered

    async def live(self) -> None:
        """Come, and come back, again and again."""
        while True:
            with contextlib.suppress(OSError, EOFError):
                await self._converse(await CrowdConnection.to(self._crowd.port))
            self._line = None
            self._begin()
            await asyncio.sleep(self._draw.uniform(0, AWAY_S))

    def say(self, kind: str, **fields: Any) -> None:
        """Make a request, if there is a line."""
        if self._line:
            self._line.say(kind, **fields)

    async def _converse(self, line: CrowdConnection) -> None:
        self._line = line
        self._hello()
        try:
            while self._line:
                self._hear(await line.hear(), line)
                self._crowd.heard.set()
        finally:
            line.cut()

    def _hello(self) -> None:
        self.say(
            "hello",
            protocol_min=1,
            protocol_max=1,
            name=self.name,
            guest=self._guest,
            token=self._token,
            session=self._session,
            legal_actions=True,
        )

    def _hear(self, message: Message, line: CrowdConnection) -> None:
        match message["type"]:
            case "welcome":
                self._welcome(message, line)
            case "pong":
                self._all_said()
            case "seeking":
                self._seeks_unanswered -= "re" in message
            case "started":
                self._started(message)
            case "update":
                self._update(message)
            case "ended":
                self._ended(message)
            case "error":
                self._refused(message)
            case "notice":
                self.down = message["code"] == "storage_down"
            case "listing":
                self._crowd.listed = len(message["matches"])
            case "ping":
                self.say("ping")

    def _welcome(self, message: Message, line: CrowdConnection) -> None:
        self._session = message["session"]
        self._token = message.get("token", self._token)
        self._crowd.welcomed(line)
        self.say("ping")

    def _all_said(self) -> None:
        for match in self._playing - self._told:
            self._fault(f"match {match} is not told of after the return")
        self._playing &= self._told
        self.here = True
        self._seek()

    def _seek(self) -> None:
        """Look for opponents until there are enough."""
        while (
            self.here
            and self._crowd.wants_more()
            and len(self._seeking) + len(self._playing) < SIDE_BY_SIDE
        ):
            game = self._draw.choice(GAMES)
            self._seeking.append(game)
            self._seeks_unanswered += 1
            self.say("seek", game=game, clock="none")

    def _started(self, message: Message) -> None:
        match, moves = message["match"], message["moves"]
        self._told.add(match)
        if match not in self.notes:
            self.notes[match] = Notes(
                match=match,
                client=self.name,
                game=message["game"],
                players=tuple(message["players"]),
                seat=message["seat"],
                moves=moves,
            )
            self._playing.add(match)
            self._crowd.begun.add(match)
            if message["game"] in self._seeking:
                self._seeking.remove(message["game"])
        notes = self.notes[match]
        if notes.ended:
            self._fault(f"match {match} goes on after its end")
        if moves[: len(notes.moves)] != notes.moves:
            self._fault(f"match {match} had the moves {notes.moves}, and now has {moves}")
        notes.moves = moves
        self._think(message, len(moves))

    def _update(self, message: Message) -> None:
        match, ply, action = message["match"], message["ply"], message["action"]
        moves = self.notes[match].moves
        if ply > len(moves):
            self._fault(f"match {match} is at ply {len(moves)}, and move {ply} is told")
        elif ply < len(moves):  # the answer to a move that was sent twice
            if moves[ply] != action:
                self._fault(f"move {ply} of match {match} was {moves[ply]}, and is now {action}")
        else:
            if self.down:
                self._fault(f"move {ply} of match {match} is told while storage is down")
            moves.append(action)
            self._think(message, ply + 1)
            self._perhaps_cut()

    def _think(self, message: Message, ply: int) -> None:
        """Move in a while, where it is one's turn; what was sent before is sent again."""
        match = message["match"]
        if message["to_move"] != self.notes[match].seat:
            return
        if self._sent.get(match, (-1, -1))[0] != ply:
            self._sent[match] = ply, self._draw.choice(message["legal_actions"])
        asyncio.get_running_loop().call_later(
            self._draw.uniform(0, THINK_S), self._move, self._line, match
        )

    def _move(self, line: CrowdConnection | None, match: str) -> None:
        if line is None or line is not self._line:
            return
        ply, action = self._sent[match]
        twice = self._draw.random() < TWICE
        self._crowd.twice += twice
        for _ in range(1 + twice):
            line.say("move", match=match, ply=ply, action=action)
        self._perhaps_cut()

    def _ended(self, message: Message) -> None:
        match = message["match"]
        notes = self.notes.get(match)
        if notes is None:
            self._fault(f"match {match} ends, of which it was not told")
        elif notes.ended is None:
            notes.ended = message
            self._told.add(match)
            self._playing.discard(match)
            self._crowd.ends[match] += 1
            self._seek()
        elif notes.ended != message:
            self._fault(f"match {match} ended so: {notes.ended}, and now so: {message}")

    def _refused(self, message: Message) -> None:
        request, code = message.get("re"), message["code"]
        if request == "hello" and code == "unknown_session" and self._session:
            self._session = None  # without a match it ends with its line
            self._hello()
        elif request == "hello" and code == "name_taken" and not self._session:
            self.name += " again"  # it got the name, but the welcome was lost
            self._hello()
        elif request != "move" or code != "match_over":  # that, the end of the match explains
            self._fault(f"refused: {message}")

    def _perhaps_cut(self) -> None:
        if self._line and not self._crowd.calm and self._draw.random() < CUT:
            self._crowd.cuts += 1
            self._line.cut()
            self._line = None

    def _fault(self, text: str) -> None:
        self._crowd.faults.append(f"{self.name}: {text}")


class Crowd:
    """Clients at the server on a port, who play so many matches against each other.

    `faults` are what they were told and should not have been.
    """

    def __init__(self, port: int, clients: int, matches: int, seed: int) -> None:
        self.port = port
        self.seed = seed
        self.cuts = self.twice = 0
        self.faults: list[str] = []
        #: Nobody is cut off.
        self.calm = False
        #: More matches are begun, however many there were.
        self.busy = True
        self.begun: set[str] = set()
        #: How many clients were told of a match's end.
        self.ends: Counter[str] = Counter()
        self.heard = asyncio.Event()
        #: How many matches are played, as the server said when it was asked.
        self.listed: int | None = None
        self._matches = matches
        # When the server was started, and the first was welcomed on a line that was opened since.
        self._started_at = 0.0
        self._welcomed_at: float | None = None
        self.clients = [Client(self, number, number % 2 == 0) for number in range(clients)]

    def wants_more(self) -> bool:
        """Are there too few matches?"""
        return self.busy or len(self.begun) < self._matches

    @property
    def ended(self) -> int:
        """How many matches both players know the end of."""
        return sum(told == 2 for told in self.ends.values())

    @property
    def running(self) -> int:
        """How many others were begun."""
        return len(self.begun) - self.ended

    @property
    def told(self) -> list[Notes]:
        """What was told of each match to each client."""
        return [notes for client in self.clients for notes in client.notes.values()]

    @contextlib.asynccontextmanager
    async def playing(self) -> AsyncIterator[None]:
        """They live until the end of the block."""
        async with asyncio.TaskGroup() as group:
            lives = [group.create_task(client.live()) for client in self.clients]
            try:
                yield
            finally:
                for life in lives:
                    life.cancel()

    async def until(self, happened: Callable[[], bool], what: str) -> None:
        """Wait for something that shows in what clients hear. Raises Stuck."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not happened():
                    self.heard.clear()
                    await self.heard.wait()
        except TimeoutError:
            raise CrowdStuck(f"waited {PATIENCE_S:g} s in vain: {what}") from None

    async def until_ended(self, matches: float) -> None:
        """Wait until so many matches have ended."""
        await self.until(lambda: self.ended >= matches, f"{matches:.0f} matches to end")

    def welcomed(self, line: CrowdConnection) -> None:
        """Somebody was, on that line."""
        if self._welcomed_at is None and line.opened_at > self._started_at:
            self._welcomed_at = time.monotonic()

    async def until_welcomed(self, started_at: float) -> float:
        """Wait until the server that was started then welcomes somebody; how long it took."""
        self._started_at, self._welcomed_at = started_at, None
        await self.until(lambda: self._welcomed_at is not None, "the server to welcome somebody")
        assert self._welcomed_at
        return self._welcomed_at - started_at

    async def until_all(self, holds: Callable[[Client], bool], what: str) -> None:
        """Wait until it holds for every client."""
        await self.until(lambda: all(map(holds, self.clients)), f"all clients {what}")

    async def finish(self) -> None:
        """Begin no more than the matches that are wanted, and wait for the end of all."""
        self.busy = False
        await self.until_ended(self._matches)
        while self.listed != 0:  # a match may have begun of which nobody was told yet
            await self.until_all(lambda client: client.at_rest, "to have played their matches")
            self.calm, self.listed = True, None
            self.clients[0].say("list")
            await self.until(lambda: self.listed is not None, "a listing")
