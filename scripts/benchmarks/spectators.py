"""Players' latency with a thousand spectators of their match, and with lobbies of fifty boards.

The server, its storage process, this process with the players, and a process with the spectators
share the machine. The spectators' process yields the processor to all others (nice 19), as if it
ran elsewhere, and checks that each spectator receives every move. They watch over WebSocket, with
views. Rounds with and without them alternate, on the same server.

*One match* is between two bots that fill a board of 19 by 19 and send their analysis of each move,
at a pace of 20 to 50 ms per move, and as fast as possible. *A broadcast* is the same at a pace, but
the spectators come late, and each fetches the moves before, as the page does. *A lobby* has fifty
such matches with one move per second each, and pages that show all fifty. Latency is the time from
sending a move to the mover's own copy of its update.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import re
import selectors
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from testbed.bench import Bench, Column, ResultTable, Target
from testbed.machine import Helper, HelperReport, helper
from testbed.measure import Sample
from testbed.server_process import (
    PAGE,
    UNLIMITED,
    ServerProcess,
    allow_connections,
    serving,
    stored,
)
from testbed.traffic import (
    AT_ONCE,
    EFFECTS,
    SILENCE_S,
    Load,
    Message,
    PairedDialogue,
    TrafficPlayer,
    effects,
    pace,
    playing,
    replies,
)

#: A full row hardly ever happens, so that a match has 361 moves.
GAME = "mnk(m=19,n=19,k=19)"
SPECTATORS = 1000
BOARDS = 50
LOBBIES = 20
#: Seconds from a move to the next.
PACE_S = (0.02, 0.05)

#: Ratio to the latency without spectators; both percentiles have a row of their own.
TARGET = Target("ratio", at_most=2.0)

COLUMNS = (
    Column("players", "players"),
    Column("watch", "spectators"),
    *EFFECTS,
    Column("moves", "moves per round"),
    Column("updates", "updates in all"),
    Column("kib", "KiB per update", ".2f"),
    Column("slowest_s", "slowest fetch, s", ".2f"),
)


@dataclass(frozen=True)
class Scene:
    """The players, the spectators, and the function that plays a round with or without them.

    `fetches`: whether each spectator fetches the moves before.
    """

    players: str
    watch: str
    count: int
    matches: int
    play: Callable[[ServerProcess, Spectators | None], Load]
    fetches: bool = False


def run(bench: Bench) -> list[ResultTable]:
    """Return one table: one match at a pace and as fast as possible, and a lobby."""
    allow_connections(2 * SPECTATORS)
    moves, seconds = bench.pick(300, 100), bench.pick(20.0, 4.0)
    one = f"{SPECTATORS:,} of that match"
    scenes = {
        "at a pace": Scene(
            "one match, a move per 20 to 50 ms", one, SPECTATORS, 1, partial(_match, moves, PACE_S)
        ),
        "as fast as possible": Scene(
            "one match, as fast as possible", one, SPECTATORS, 1, partial(_match, moves, None)
        ),
        "broadcast": Scene(
            "one match, a move per 20 to 50 ms",
            f"{SPECTATORS:,} of its broadcast, who come late",
            SPECTATORS,
            1,
            partial(_match, bench.pick(150, 100), PACE_S, late=bench.pick(200, 60)),
            fetches=True,
        ),
        "lobbies": Scene(
            f"{BOARDS} matches, a move per second each",
            f"{LOBBIES} pages with all {BOARDS} boards",
            LOBBIES,
            BOARDS,
            partial(_lobby, seconds),
        ),
    }
    table = ResultTable("Players' latency without and with spectators", COLUMNS)
    with stored() as database, serving([*UNLIMITED, PAGE, database]) as served:
        for name in bench.track(list(scenes)):
            _measure(bench.pick(5, 2), table, served, scenes[name])
    return [table]


def _measure(rounds: int, table: ResultTable, served: ServerProcess, scene: Scene) -> None:
    without, within, seen = list[Load](), list[Load](), list[SpectatorReport]()
    for _ in range(rounds):
        without.append(scene.play(served, None))
        with watching(served.page, scene.count, scene.matches, scene.fetches) as spectators:
            within.append(scene.play(served, spectators))
            spectators.ask("finish")
            seen.append(spectators.answer())
    for cells in effects(without, within).values():
        table.add(
            None if "fast" in scene.players else TARGET,
            players=scene.players,
            watch=scene.watch,
            **cells,
            moves=Sample(load.moves for load in within),
            updates=Sample(each.updates for each in seen),
            kib=Sample(each.kib / each.updates for each in seen),
            slowest_s=Sample(each.slowest_s for each in seen) if scene.fetches else None,
        )


class _AnalysisDialogue(PairedDialogue):
    """A paired dialogue in which moves have an analysis, as those of bots."""

    def move(self, match: str, ply: int, actions: Sequence[int]) -> Message:
        """Return a random legal move with an analysis."""
        move = super().move(match, ply, actions)
        pv = [move["action"], *actions[:9]]
        stats = [[action, 1000 - place, 0.5] for place, action in enumerate(actions[:20])]
        analysis = {"win_rate": 0.5, "simulations": 20000, "pv": pv, "actions": stats}
        return move | {"info": analysis}


def _match(
    moves: int,
    pace_s: tuple[float, float] | None,
    served: ServerProcess,
    spectators: Spectators | None,
    late: int = 0,
) -> Load:
    """Play `late` moves of one match, then `moves` more with all spectators watching."""
    load = Load()
    draw = random.Random(1)
    with playing(served, _AnalysisDialogue(GAME), 2) as selector:
        turns = _turns(selector, load.latencies_s)
        player, move = next(turns)
        for ply in range(late + moves):
            if spectators and ply == late:
                spectators.ask("watch")
                spectators.answer()
            if pace_s:
                time.sleep(draw.uniform(*pace_s))
            player.send(move, time.perf_counter())
            player, move = next(turns)
    del load.latencies_s[:late]
    return load


def _turns(
    selector: selectors.BaseSelector, latencies_s: list[float]
) -> Iterator[tuple[TrafficPlayer, Message]]:
    """Yield the next player with its move, after the mover has its copy of the move before."""
    dialogue = _AnalysisDialogue(GAME)
    due: tuple[TrafficPlayer, Message] | None = None
    made = 0
    while True:
        for player, reply, _ in replies(selector, dialogue, SILENCE_S, latencies_s.append):
            if reply["type"] == "move":
                due = player, reply
        if due and len(latencies_s) == made:
            made += 1
            turn, due = due, None
            yield turn


def _lobby(seconds: float, served: ServerProcess, spectators: Spectators | None) -> Load:
    """Play many matches, which the spectators watch soon after their start."""
    if spectators:
        spectators.ask("watch")
    paced = pace(served, GAME, BOARDS, seconds)
    if spectators:
        spectators.answer()
    return paced


# Spectators over WebSocket, in a process of their own. They check that no update is missing.


#: Seconds in which the fetches begin, as in `large_match.js`, and how many are made at a time.
FETCH_S, _FETCHING = 2.0, 100
#: After this many seconds without a message, all messages have arrived.
QUIET_S = 1.0
NICE = 19

_UPDATE = re.compile(rb'"type":"update","match":"(\w+)","ply":(\d+),')
#: Bytes kept between reads: no more than a match of _UPDATE has, so that an update that arrives in
#: two pieces is found once.
_TAIL = 60


@dataclass
class SpectatorReport(HelperReport):
    """Updates that the spectators received in all, the data, and the number of matches.

    `slowest_s`: the seconds of the slowest fetch, from the moment at which it was due.
    """

    updates: int = 0
    kib: float = 0.0
    matches: int = 0
    slowest_s: float = 0.0


Spectators = Helper[SpectatorReport]


@contextlib.contextmanager
def watching(page: int, count: int, matches: int, fetches: bool) -> Iterator[Spectators]:
    """Connect `count` spectators until the end of the block.

    At the word "watch" each of them watches that many matches as soon as enough run, and they
    answer. At "finish" they read the rest, and report; a missed update is a fault. With `fetches`,
    each fetches a match as the page of a broadcast does, of which a refusal is a fault.
    """
    arguments = page, count, matches, fetches
    with helper("the spectators", _run, *arguments, answer_s=3 * SILENCE_S) as spectators:
        spectators.answer()  # all are connected
        yield spectators


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
        """Read until `expected`, which is not an update, and return the data."""
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
            raise EOFError("the server has closed a connection")
        self.size += len(data)
        return data


def _run(page: int, count: int, matches: int, fetches: bool, pipe: Connection) -> None:
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    os.setpriority(os.PRIO_PROCESS, 0, NICE)
    with contextlib.ExitStack() as stack:
        spectators = _connect(page, count, stack)
        pipe.send(SpectatorReport())
        pipe.recv()
        (first, *_) = _watch(spectators, matches)
        pipe.send(SpectatorReport(matches=matches))
        if fetches:
            pool = stack.enter_context(ThreadPoolExecutor(_FETCHING))
            due = sorted(time.monotonic() + FETCH_S * random.random() for _ in spectators)
            fetched = [
                pool.submit(_fetch, page, first, each, number) for number, each in enumerate(due)
            ]
        report = _read_on(spectators, pipe)
        if fetches:
            report.slowest_s = max(each.result() for each in fetched)
        pipe.send(report)
        pipe.recv()


def _fetch(page: int, match: str, due_at: float, number: int) -> float:
    """Fetch a match at its time, from one of many addresses; return the seconds until its end."""
    time.sleep(max(0.0, due_at - time.monotonic()))
    own = f"127.0.0.{2 + number % _FETCHING}", 0
    with contextlib.closing(
        http.client.HTTPConnection("127.0.0.1", page, source_address=own)
    ) as connection:
        connection.request("GET", f"/api/matches/{match}", headers={"Accept-Encoding": "gzip"})
        response = connection.getresponse()
        response.read()
    assert response.status == http.client.OK, f"a fetch was answered with {response.status}"
    return time.monotonic() - due_at


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
    b"GET /socket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def _watch(spectators: list[_Spectator], matches: int) -> list[str]:
    """Let all spectators watch all matches, as soon as enough run; return these."""
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
    return found[:matches]


def _read_on(spectators: list[_Spectator], pipe: Connection) -> SpectatorReport:
    """Read all messages until the word to finish, and return the report."""
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
        updates=sum(after - before for s in spectators for before, after in s.plies.values()),
        kib=sum(spectator.size for spectator in spectators) / 1024,
        matches=len(last),
    )
