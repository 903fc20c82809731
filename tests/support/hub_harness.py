"""A hub without sockets: clients in memory, and a clock that the test moves."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import msgpack

from playout.protocol.analyst import AnalysisOrder, AnalysisReport, LuckOrder, ProofOrder
from playout.protocol.codec import decode_event, encode
from playout.protocol.messages import (
    Analysis,
    Code,
    Error,
    Event,
    Hello,
    Move,
    Request,
    Seek,
    Started,
    TournamentDraft,
    Update,
    Welcome,
)
from playout.ratings.bradley_terry import RatingProblem, Ratings, solve
from playout.server.core.accounts import digest
from playout.server.core.effects import (
    CallWhenIdle,
    CheckFile,
    CheckPassword,
    CheckReport,
    Close,
    Effect,
    EndAnalysis,
    EndBot,
    Log,
    PauseReading,
    RateLadder,
    Send,
    SendServerState,
    SendToSpectators,
    SetFrameLimit,
    StartAnalysis,
    StartBot,
    StartOrganizer,
    Stopped,
    Store,
    TellDisconnection,
    WakeAt,
)
from playout.server.core.handlers.reports import CheckedReport
from playout.server.core.hub import Hub
from playout.server.core.match import Match
from playout.server.core.match_room import ENDED_KEPT
from playout.server.core.policy import Policy
from playout.server.core.timers import PAUSE_S
from playout.server.model.records import Account, Record
from playout.server.net.passwords import checked
from support.protocol_validator import require_described_event, require_described_request

E = TypeVar("E", bound=Event)

EPOCH = 1_800_000_000.0
GAME = "tic_tac_toe"
WON = (0, 3, 1, 4, 2)
"""
x x x
o o .
. . .
"""
THOUGHT = Analysis(win_rate=0.75, simulations=100)


class HubHarness:
    """A hub and its clients in memory; time passes only in `wait`.

    Its records are stored at once, or by `commit` if the database is `slow`. Its idle work is done
    at once, or by `rest` if the hub is `busy`.
    """

    def __init__(self, **policy: Any) -> None:
        self.policy = Policy(**({"messages_per_s": 0, "registrations_per_hour": 0} | policy))
        self.hub = Hub(
            self.policy, random.Random(1), software="a test", epoch=EPOCH, started_at=EPOCH
        )
        self.slow = False
        self.stored: list[Record] = []
        self.logged: list[str] = []
        self.committed = 0
        self.paused: list[tuple[int, float]] = []
        #: By connection, whether it is an administrator's.
        self.trusted: dict[int, bool] = {}
        #: Bots that the hub has asked for, started or not, by the hub's number of each.
        self.bots: dict[str, StartBot] = {}
        #: The disconnections of players that are to be told to other programs.
        self.disconnections: list[TellDisconnection] = []
        #: The organizers that the hub has asked for.
        self.organizers: list[StartOrganizer] = []
        #: Bots that were ended, whose processes exit at once or when `exit_bots` is called.
        self.ending: list[str] = []
        self.bots_linger = False
        #: The running analyses by id, those that are to be ended, and the ordered proofs and luck.
        self.analyses: dict[str, AnalysisOrder] = {}
        self.ending_analyses: list[str] = []
        self.proofs: list[ProofOrder] = []
        self.lucks: list[LuckOrder] = []
        #: The ladders whose ratings are to be computed, at the end of the call.
        self.unrated: list[RateLadder] = []
        #: The passwords that are to be checked, at the end of the call.
        self.unchecked: list[CheckPassword] = []
        #: The files of tournaments that are to be checked, without faults, at the end of the call.
        self.unchecked_files: list[CheckFile] = []
        #: The reports that are to be answered at the end of the call, as if none was made before.
        self.unchecked_reports: list[CheckReport] = []
        #: The fault of these reports, or nothing.
        self.report_fault = ""
        #: Hashes passwords and compares them.
        self.checked: Callable[[str, str], str] = checked
        #: Computes the ratings; None if it fails.
        self.solve: Callable[[RatingProblem], Ratings | None] = solve
        self.now = 0.0
        self.alarm: float | None = None
        self.idle = self.busy = False
        self.stopped = 0
        #: Connections that were told to close. Their files close at once, or by `close_files` if
        #: the peers `stay`.
        self.closing: list[int] = []
        self.peers_stay = False
        #: Those of them whose unread output was dropped.
        self.aborted: list[int] = []
        self.clients: dict[int, MemoryClient] = {}
        self._numbers = itertools.count(1)

    def connect(self, address: str | None = "192.0.2.1") -> MemoryClient:
        """Return a new connection, without a hello."""
        client = MemoryClient(self, next(self._numbers))
        self.clients[client.number] = client
        self.do(self.hub.connect(client.number, address, self.now))
        return client

    def client(self, name: str, **hello: Any) -> MemoryClient:
        """Return a new client that has sent hello, by default as a guest."""
        client = self.connect()
        client.welcome = client.ask(hello_of(name, **hello), Welcome)
        return client

    def do(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Send(connections, message):
                    assert len(set(connections)) == len(connections)
                    for number in connections:
                        if self.slow and not self.clients[number].open:
                            continue  # it has disconnected since the event was held back
                        self.clients[number].hear(decode_event(_validated(encode(message))))
                case SendToSpectators(connections, messages):
                    for message in messages:
                        self.do([Send(connections, message)])
                case SendServerState(number, state):
                    self.do([Send((number,), state)])
                case Close(number, at_once):
                    assert self.clients[number].open
                    self.clients[number].open = False
                    self.closing.append(number)
                    if at_once:
                        self.aborted.append(number)
                case WakeAt(at):
                    self.alarm = at
                case CallWhenIdle():
                    self.idle = True
                case Log(text, fields):
                    self.logged.append(f"{text.format(**fields)} {dict(fields)}")
                case Store(number, record):
                    self.stored.append(record)
                    assert number == len(self.stored)
                case SetFrameLimit(number, is_administrators):
                    self.trusted[number] = is_administrators
                case PauseReading(number, seconds):
                    self.paused.append((number, seconds))
                case StartBot(bot):
                    assert bot not in self.bots
                    self.bots[bot] = effect
                case EndBot(bot):
                    del self.bots[bot]
                    self.ending.append(bot)
                case StartOrganizer():
                    self.organizers.append(effect)
                case StartAnalysis(ProofOrder() as proof):
                    self.proofs.append(proof)
                case StartAnalysis(LuckOrder() as luck):
                    self.lucks.append(luck)
                case StartAnalysis(AnalysisOrder() as order):
                    self.analyses[order.analysis] = order
                case EndAnalysis(analysis):
                    assert analysis in self.analyses
                    self.ending_analyses.append(analysis)
                case RateLadder():
                    self.unrated.append(effect)
                case CheckPassword():
                    self.unchecked.append(effect)
                case CheckFile():
                    self.unchecked_files.append(effect)
                case CheckReport():
                    self.unchecked_reports.append(effect)
                case TellDisconnection():
                    self.disconnections.append(effect)
                case Stopped():
                    self.stopped += 1
        if self.closing and not self.peers_stay:
            self.close_files()
        if self.ending and not self.bots_linger:
            self.exit_bots()
        if not self.slow and self.committed < len(self.stored):
            self.commit()
        if not self.busy:
            self.rest()
        while self.unchecked_files:
            file = self.unchecked_files.pop(0)
            draft = TournamentDraft(toml=file.toml, values=file.values or {})
            self.do(self.hub.file_checked(file.check, draft, self.now))
        while self.unchecked_reports:
            report = CheckedReport(self.unchecked_reports.pop(0).check, fault=self.report_fault)
            self.do(self.hub.report_checked(report, self.now))
        while self.unchecked:
            check = self.unchecked.pop(0)
            result = self.checked(check.password, check.hashed)
            self.do(self.hub.password_checked(check.check, result, self.now))
        while self.unrated:
            order = self.unrated.pop(0)
            self.do(self.hub.ladder_rated(order.game, self.solve(order.problem), self.now))

    def report(self, analysis: str, info: Analysis | None = None, error: str = "") -> None:
        """Report about a position as an analyst; without `info`, report the end of the analysis."""
        if info is None:
            del self.analyses[analysis]
        report = AnalysisReport(analysis, info, over=info is None, error=error)
        self.do(self.hub.analysis_reported(report, self.now))

    def proven(self, winner: Literal[1, 2, -1] | None, error: str = "") -> None:
        """Report the end of the earliest ordered proof as an analyst."""
        order = self.proofs.pop(0)
        report = AnalysisReport(order.analysis, over=True, winner=winner, error=error)
        self.do(self.hub.analysis_reported(report, self.now))

    def measured(self, luck: tuple[float, ...] | None, error: str = "") -> None:
        """Report the luck of the earliest ordered match as an analyst."""
        order = self.lucks.pop(0)
        report = AnalysisReport(order.analysis, over=True, luck=luck, error=error)
        self.do(self.hub.analysis_reported(report, self.now))

    def close_files(self) -> None:
        """Close the files of the connections that were told to close."""
        closing, self.closing = self.closing, []
        for number in closing:
            self.do(self.hub.disconnect(number, self.now))

    def exit_bots(self) -> None:
        """Let the processes of the bots that were ended exit."""
        ending, self.ending = self.ending, []
        for bot in ending:
            self.do(self.hub.bot_ended(bot, "it was ended", self.now))

    def commit(self) -> None:
        """Report all records as stored."""
        self.committed = len(self.stored)
        self.do(self.hub.committed(self.committed, self.now))

    def rest(self) -> None:
        """Let the hub do its idle work; while it is `busy`, it does none by itself."""
        if self.idle:
            self.idle = False
            while self.hub.has_pending_moves:
                self.do(self.hub.show(self.now))

    def finish_jobs(self) -> None:
        """Let the hub finish the work that it does in slices."""
        while self.alarm is not None and self.alarm <= self.now + PAUSE_S:
            self.wait(PAUSE_S)

    def wait(self, seconds: float) -> None:
        """Let time pass, and run the hub's timers."""
        until = self.now + seconds
        while self.alarm is not None and self.alarm <= until:
            self.now, self.alarm = max(self.now, self.alarm), None
            self.do(self.hub.wake(self.now))
            assert self.alarm is None or self.alarm > self.now
        self.now = until

    @property
    def matches(self) -> dict[str, Match]:
        """Return the running matches."""
        return {match_id: table.match for match_id, table in self.hub.rooms.items()}

    def only_match(self) -> Match:
        (match,) = self.matches.values()
        return match

    def is_empty(self) -> bool:
        """Return whether the hub holds nothing but ended matches."""
        hub = self.hub
        counted = len(hub.rooms) + len(hub.lobby) + len(hub.bots) + len(self.bots)
        counted += len(hub.analyses)
        timers, registry = len(hub._context.timers), hub.registry
        return (
            not (registry.open_connections or registry.connections or registry.sessions)
            and not (registry._by_skeleton or registry._addresses)
            and not (hub.lobby_feed._subscribers or hub.ladder_feed._watchers)
            and counted + timers == 0
            and len(hub._context.rooms._ended) <= ENDED_KEPT
        )


class MemoryClient:
    """One connection: the messages that it sent and received."""

    def __init__(self, harness: HubHarness, number: int) -> None:
        self.harness = harness
        self.number = number
        self.open = True
        self.inbox: list[Event] = []
        self.welcome: Welcome | None = None

    @property
    def token(self) -> str:
        assert self.welcome is not None
        return self.welcome.session

    @property
    def account_token(self) -> str:
        assert self.welcome is not None
        assert self.welcome.token is not None
        return self.welcome.token

    def hear(self, event: Event) -> None:
        assert self.open, f"{event} was said to one who had hung up"
        self.inbox.append(event)

    def say(self, request: Request, lag_s: float = 0.0) -> list[Event]:
        """Send a request, and return the messages that this connection receives for it."""
        heard = len(self.inbox)
        hub, now = self.harness.hub, self.harness.now
        self.harness.do(hub.receive(self.number, request, now, lag_s))
        self.harness.finish_jobs()
        answers = self.inbox[heard:]
        if not any(isinstance(each, Error) for each in answers):
            require_described_request(msgpack.unpackb(encode(request)))
        return answers

    def ask(self, request: Request, kind: type[E]) -> E:
        """Send a request, and return its only answer of that kind."""
        return only(self.say(request), kind)

    def refused(self, request: Request) -> Code:
        """Send a request, and return the code of the error that is its only answer."""
        (error,) = self.say(request)
        assert isinstance(error, Error)
        assert error.text
        return error.code

    def heard(self, kind: type[E]) -> list[E]:
        return [event for event in self.inbox if isinstance(event, kind)]

    def hang_up(self, *, left: bool = False) -> None:
        """Lose the connection, or leave: close it as a page does that is closed."""
        self.open = False
        self.harness.do(self.harness.hub.disconnect(self.number, self.harness.now, left=left))


def _validated(frame: bytes) -> bytes:
    """Return an event's bytes. Raises AssertionError unless docs/protocol.md describes it."""
    require_described_event(msgpack.unpackb(frame))
    return frame


def only(events: Sequence[Event], kind: type[E]) -> E:
    (event,) = (each for each in events if isinstance(each, kind))
    return event


def hello_of(name: str, **fields: Any) -> Hello:
    given: dict[str, Any] = {"protocol_min": 1, "protocol_max": 1, "name": name}
    if not fields.keys() & {"token", "session"}:
        given["guest"] = True
    return Hello(**given | fields)


def sit_down(
    harness: HubHarness, *, clock: str = "none", **hello: Any
) -> tuple[MemoryClient, MemoryClient, str]:
    """Return Ann, Bob, who moves second, and the id of their match."""
    ann, bob = harness.client("Ann", **hello), harness.client("Bob")
    match = match_between(ann, bob, clock=clock)
    return ann, bob, match


def administrator(harness: HubHarness, name: str, **hello: Any) -> MemoryClient:
    """Return a client that is logged in as an administrator."""
    token = "0" * 32
    known = Account(id=name, name=name, digest=digest(token), created_at=EPOCH, administrator=True)
    harness.do(harness.hub.account_changed(known, harness.now))
    return harness.client(name, token=token, **hello)


def match_between(
    first: MemoryClient,
    second: MemoryClient,
    *,
    game: str = GAME,
    clock: str = "none",
    rated: bool = False,
) -> str:
    first.say(Seek(game=game, clock=clock, rated=rated, seat=1))
    return second.ask(Seek(game=game, clock=clock, rated=rated, seat=2), Started).match


def play(
    match: str, players: tuple[MemoryClient, MemoryClient], actions: Sequence[int], ply: int = 0
) -> None:
    for number, action in enumerate(actions, start=ply):
        update = players[number % 2].ask(Move(match=match, ply=number, action=action), Update)
        assert (update.ply, update.action) == (number, action)


# Hello.
