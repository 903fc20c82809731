"""Scripted clients play at a new server, which is killed or paused, until all matches end.

Then the database is read with plain SQL, and compared with the messages that the clients received.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import random
import sqlite3
import tempfile
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from playout import games
from playout.games import Position
from playout.protocol.dice import Dice, verified_rolls
from playout.protocol.messages import ClockState
from playout.protocol.time_control import parse_time_control
from playout.server.core.clock import Clock
from playout.server.runtime.reactor import STEP_S, TICK_S
from soak.scripted_clients import GAMES, ReceivedMatch, ScriptedClients, WaitTimeout
from support.postgres import Postgres
from testbed.server_process import KillableServer, killable_server

# The matches in a database, and their contradictions to the records of the clients.


SQLITE = "sqlite:///"


#: The results of a match whose first mover did not move, and of one that has not ended.
VOID = "void", 0, (0.0, 0.0)
ONGOING = "rules", 0, (0.0, 0.0)


class MoveRow(NamedTuple):
    """A row of the database table `moves`."""

    ply: int
    seat: int
    action: int


class StoredRow(NamedTuple):
    """A row of the database table `matches` with its moves; `reason` is None before its end."""

    game: str
    players: tuple[str, str]
    winner: int | None
    returns: tuple[float | None, float | None]
    reason: str | None
    moves: list[MoveRow]
    dice_key: str | None = None


def stored(url: str) -> dict[str, StoredRow]:
    """Return all matches in a database, given by its SQLAlchemy URL, by id."""
    if url.startswith(SQLITE):
        connection: Any = sqlite3.connect(url.removeprefix(SQLITE))
    else:
        connection = psycopg.connect(url.replace("+psycopg", ""))
    with contextlib.closing(connection):
        found = {
            row[0]: StoredRow(row[1], row[2:4], row[4], row[5:7], row[7], [], row[8])
            for row in connection.execute(
                'SELECT id, game, "first", "second", winner, first_return, second_return, reason,'
                " dice_key FROM matches"
            )
        }
        query = 'SELECT "match", ply, seat, action FROM moves ORDER BY "match", ply'
        for match, *move in connection.execute(query):
            found[match].moves.append(MoveRow(*move))
    return found


def violations(
    found: Mapping[str, StoredRow],
    records: Sequence[ReceivedMatch],
    late: Container[str] = (),
) -> list[str]:
    """Return a line for each error in the database and each contradiction to a client's record.

    In the matches `late`, the client to move at the end took more time than it had.
    """
    lines = [
        f"match {key}: {text}"
        for key, match in found.items()
        for text in _faults(match, key in late)
    ]
    for key in found:
        clients = [record.client for record in records if record.match == key]
        if len(clients) != 2:
            lines.append(f"match {key}: expected two clients with a record of it, not {clients}")
    for record in records:
        about = f"match {record.match}, as {record.client} received it"
        lines += [f"{about}: {text}" for text in _contradictions(record, found.get(record.match))]
        lines += [f"{about}: {text}" for text in _wrong_rolls(record)]
    return lines


def _wrong_rolls(record: ReceivedMatch) -> Iterator[str]:
    """Yield the rolls that do not follow from the key, as `docs/protocol-games.md` says."""
    if not record.ended or not games.load(record.game).has_chance:
        return
    dice = Dice(record.match, record.ended["key"])
    if dice.commitment != record.commitment:
        yield f"its key {dice.key} does not belong to its commitment {record.commitment}"
    position = Position(games.load(record.game), record.moves)
    for roll in verified_rolls(position, dice):
        if not roll.is_right:
            yield f"{roll} does not follow from the key"


def _faults(match: StoredRow, is_late: bool) -> Iterator[str]:
    """Yield the errors of a stored match: missing plies, illegal moves, a wrong result."""
    plies = [move.ply for move in match.moves]
    if plies != list(range(len(plies))):
        yield f"its plies are {plies}"
        return
    game = games.load(match.game)
    state = game.initial_state()
    for move in match.moves:
        if game.current_player(state) != move.seat:
            yield f"{move} is not by the player to move"
        try:
            state = game.next_state(state, move.action)
        except games.IllegalAction as error:
            yield f"{move} is illegal: {error}"
            return
    result = "rules", game.winner(state), game.returns(state)
    if is_late and not game.winner(state):
        loser = game.current_player(state)
        has_moved = any(move.seat == loser for move in match.moves)
        result = ("time", 3 - loser, (loser - 1.0, 2.0 - loser)) if has_moved else VOID
    if (match.reason, match.winner, match.returns) != result or result == ONGOING:
        yield f"its result is {match}, and by the rules it is {result}"


def _contradictions(record: ReceivedMatch, match: StoredRow | None) -> Iterator[str]:
    if match is None:
        yield "it is not in the database"
        return
    if (match.game, match.players) != (record.game, record.players):
        yield f"it was {record.game} between {record.players}, and is {match}"
    actions = [move.action for move in match.moves]
    if actions[: len(record.moves)] != record.moves:
        yield f"the moves were {record.moves}, and are {actions}"
    if record.ended is None:
        yield "it has not ended"
        return
    end = record.ended["reason"], record.ended["winner"], tuple(record.ended["returns"])
    if end != (match.reason, match.winner, match.returns):
        yield f"it ended with {end}, and is {match}"
    if record.ended.get("key") != match.dice_key:
        yield f"its key was {record.ended.get('key')}, and is {match.dice_key}"


# Runs with a disturbed server.


#: Sessions and matches never expire, and no limit applies: all clients have the same address.
_OPTIONS = (
    "--http=none",
    "--reconnect-s=600",
    "--restart-grace-s=600",
    "--registrations-per-hour=0",
    "--connections-per-address=0",
)


class DisturbedRun(ABC):
    """A run with an empty database: its disturbances, its matches and its faults."""

    def __init__(self, url: str, folder: Path) -> None:
        """The log of the server goes to the folder."""
        #: A line for each fault.
        self.lost: list[str] = []
        #: The matches in the database at the end, by id.
        self.found: dict[str, StoredRow] = {}
        self.clients = self._clients(0)
        self._url = url
        self._log = folder / "log"

    @property
    def matches(self) -> int:
        """Number of matches in the database."""
        return len(self.found)

    @abstractmethod
    def _clients(self, port: int) -> ScriptedClients:
        """Return the clients of a server on that port."""

    @abstractmethod
    async def _disturb(self, server: KillableServer) -> None:
        """Disturb the server while the clients play. Raises WaitTimeout."""

    def _late(self) -> set[str]:
        """Return the matches in which a client took more time than it had."""
        return set()

    async def play(self) -> None:
        """Play until all matches end, then compare clients and database."""
        with killable_server([f"--database={self._url}", *_OPTIONS], self._log) as server:
            self.clients = self._clients(server.port)
            async with self.clients.playing():
                try:
                    await self._disturb(server)
                    await self.clients.finish()
                except WaitTimeout as error:
                    self.lost.append(f"{error}; the server's log ends:\n{server.log_tail()}")
            if code := server.stop():
                self.lost.append(f"the server exits with {code}:\n{server.log_tail()}")
        if fault := server.traceback():
            self.lost.append(f"the server logged:\n{fault}")
        self.found = stored(self._url)
        records = self.clients.records
        self.lost += [*self.clients.faults, *violations(self.found, records, self._late())]


# A run in which a server and its storage process are paused while clients play with a clock.


#: The shortest and the longest pause.
SHORTEST_S, LONGEST_S = 0.05, 5.0
#: Longest delay of a move, and of a pause after the end of a match.
THINK_S, DELAY_S = 0.01, 0.1
#: Seconds of a turn that the server may count while it waits for other input, at the beginning and
#: the end of the turn.
COUNTED_S = 2 * (TICK_S + STEP_S)


@dataclass(frozen=True)
class StallPlan:
    """The clock of all matches, the numbers of clients and matches, and of pauses meanwhile."""

    clock: str
    clients: int
    matches: int
    stalls: int
    longest_s: float = LONGEST_S


class StallRun(DisturbedRun):
    """A run with pauses; `stalls_s` has the duration of each."""

    def __init__(self, plan: StallPlan, folder: Path) -> None:
        self.stalls_s: list[float] = []
        #: When the server itself was paused.
        self._paused: list[tuple[float, float]] = []
        self._plan = plan
        super().__init__(f"{SQLITE}{folder / 'stalls.db'}", folder)

    @property
    def lost_on_time(self) -> int:
        """Number of matches that were lost on time or have no result."""
        return sum(match.reason in ("time", "void") for match in self.found.values())

    def _clients(self, port: int) -> ScriptedClients:
        numbers = self._plan.clients, self._plan.matches
        return ScriptedClients(port, *numbers, clock=self._plan.clock, think_s=THINK_S, calm=True)

    async def _disturb(self, server: KillableServer) -> None:
        """Pause the server and its storage process in turns, for times of every magnitude."""
        draw, longest_s = random.Random(1), self._plan.longest_s
        for number in range(self._plan.stalls):
            await self.clients.until_ended(self.clients.ended + 1)
            await asyncio.sleep(draw.uniform(0, DELAY_S))
            share = draw.random()
            seconds = math.exp(math.log(SHORTEST_S) * (1 - share) + math.log(longest_s) * share)
            began = time.monotonic()
            with server.paused(storage=number % 2 == 1):
                await asyncio.sleep(seconds)
            if number % 2 == 0:
                self._paused.append((began, time.monotonic()))
            self.stalls_s.append(seconds)

    def _late(self) -> set[str]:
        """Return the matches whose last player was late because this process was.

        On a busy machine the processes of the clients wait for a core as well. Their delays while
        the server was paused do not count: that time is what the server must not take from players.
        """
        delays = without(self.clients.delays, self._paused)
        records: defaultdict[str, list[ReceivedMatch]] = defaultdict(list)
        for record in self.clients.records:
            records[record.match].append(record)
        return {
            key
            for key, match in self.found.items()
            if match.reason in ("time", "void")
            and not has_time(self._plan.clock, turns(match, records[key], delays))
        }


Span = tuple[float, float]


def without(spans: Sequence[Span], removed: Sequence[Span]) -> list[Span]:
    """Return the parts of the spans that no removed span covers; both are sorted and disjoint."""
    left: list[Span] = []
    for begin, end in spans:
        for start, stop in removed:
            if start < end and begin < stop:
                if begin < start:
                    left.append((begin, start))
                begin = stop
        if begin < end:
            left.append((begin, end))
    return left


def turns(
    match: StoredRow, records: Sequence[ReceivedMatch], delays: Sequence[Span]
) -> list[float]:
    """Return the longest times, in seconds, for which the clock of the last player can have run.

    There is one for each of its turns. A turn begins after the last request before it was sent, and
    ends when the move is sent; then the player thinks, or its process is delayed.
    """
    sent_at: dict[int, float] = {}
    for ply, at in itertools.chain.from_iterable(record.sent_at.items() for record in records):
        sent_at[ply] = max(at, sent_at.get(ply, at))
    plies, game = len(match.moves), games.load(match.game)
    loser = Position(game, [move.action for move in match.moves]).to_move
    found = []
    for turn in [*(move.ply for move in match.moves if move.seat == loser), plies]:
        begin = max((at for ply, at in sent_at.items() if ply < turn), default=-math.inf)
        end = sent_at.get(turn, min((record.ended_at for record in records), default=math.inf))
        delay_s = sum(max(0.0, min(stop, end) - max(start, begin)) for start, stop in delays)
        found.append(THINK_S + COUNTED_S + delay_s)
    return found


def has_time(notation: str, turns: Sequence[float]) -> bool:
    """Return whether a player has time left after turns of at most these seconds.

    It had time left after those before the last one, for the match went on.
    """
    control = parse_time_control(notation)
    assert control
    clock, is_in_time = Clock(control), True
    for seconds in turns:
        if not is_in_time:
            clock.set((ClockState(control.increment_s, control.periods),) * 2)
        clock.start(1, 0.0)
        is_in_time = clock.stop(seconds)
    return is_in_time


def play_with_stalls(plan: StallPlan) -> StallRun:
    """Run a plan with a new SQLite database."""
    with tempfile.TemporaryDirectory(prefix="playout-stalls-") as folder:
        run = StallRun(plan, Path(folder))
        asyncio.run(run.play())
    return run


# A run in which a server is killed repeatedly while clients play.


#: Longest delay of a kill after the end of the awaited match.
KILL_DELAY_S = 0.3
#: Probability that the server is killed once more during its start, and the latest moment.
AGAIN, START_S = 0.2, 1.5
#: Duration of the outage of the database.
OUTAGE_S = 1.0


@dataclass(frozen=True)
class FaultPlan:
    """The numbers of clients, of matches, and of kills of the server meanwhile."""

    clients: int
    matches: int
    kills: int
    games: Sequence[str] = GAMES


class KillRun(DisturbedRun):
    """A run with kills, and with an outage of the database if it is a `cluster` of PostgreSQL."""

    def __init__(self, plan: FaultPlan, folder: Path, cluster: Postgres | None = None) -> None:
        self.outages = 0
        #: Running matches at each kill, without the kills during a start, which `again` counts.
        self.running: list[int] = []
        self.again = 0
        self.restarts_s: list[float] = []
        self._plan = plan
        self._cluster = cluster
        self._draw = random.Random(1)
        super().__init__(cluster.url if cluster else f"{SQLITE}{folder / 'faults.db'}", folder)

    def _clients(self, port: int) -> ScriptedClients:
        plan = self._plan
        return ScriptedClients(port, plan.clients, plan.matches, games=plan.games)

    async def _disturb(self, server: KillableServer) -> None:
        """Kill the server as often as planned, and stop its database once."""
        draw, plan = self._draw, self._plan
        moments = sorted(draw.uniform(0, 0.9 * plan.matches) for _ in range(plan.kills))
        for number, moment in enumerate(moments):
            await self.clients.until_ended(moment)
            if self._cluster and number == plan.kills // 2:
                await self._interrupt_storage(self._cluster)
            await asyncio.sleep(draw.uniform(0, KILL_DELAY_S))
            self.running.append(self.clients.running)
            server.kill()
            server.start()
            if draw.random() < AGAIN:
                await asyncio.sleep(draw.uniform(0, START_S))
                server.kill()
                server.start()
                self.again += 1
            self.restarts_s.append(await self.clients.until_welcomed(server.started_at))

    async def _interrupt_storage(self, cluster: Postgres) -> None:
        """Stop the database for a while; the server must notify all clients of both changes."""
        await asyncio.to_thread(cluster.stop)
        try:
            await self.clients.until_all(
                lambda client: client.storage_down, "to be notified that storage is down"
            )
            await asyncio.sleep(OUTAGE_S)
        finally:
            await asyncio.to_thread(cluster.start)
        await self.clients.until_all(
            lambda client: not client.storage_down, "to be notified that storage is up"
        )
        self.outages += 1


def play_with_kills(plan: FaultPlan, cluster: Postgres | None = None) -> KillRun:
    """Run a plan with a new SQLite database, or with the empty one of a cluster of PostgreSQL."""
    with tempfile.TemporaryDirectory(prefix="playout-faults-") as folder:
        run = KillRun(plan, Path(folder), cluster)
        asyncio.run(run.play())
    return run
