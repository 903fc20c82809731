"""The bots of competitions on the server: each has a session, which one process plays.

A submission is started in its sandbox for a match, and ended after it; in between, it is only a
connection. House bots are players of Playout, which think in threads of this process. With a
cluster, bots on the ladder play on its workers: see `cluster`.
"""

from __future__ import annotations

import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from rich.console import Console
from twisted.internet.defer import Deferred, fail
from twisted.internet.task import deferLater

from playout import games
from playout.commands.connect_options import ServerAddress
from playout.commands.cores import Cores, kept_to
from playout.commands.identity import Identity, hello, software
from playout.commands.restarts import BackOff, Restarts
from playout.games import Game, Position, SpecError
from playout.players.client.agent import Agent, PlayRequest
from playout.players.client.player_console import PlayerConsole
from playout.players.core.player import (
    Cancelled,
    Limit,
    Player,
    PlayerError,
    PlayResult,
    Report,
)
from playout.players.engine import Engine
from playout.players.engines.process import MATCH_OVER, MatchUse
from playout.protocol.messages import (
    Abort,
    Ended,
    EnterLadder,
    Error,
    Event,
    OpenSession,
    Ping,
    Pong,
    Reason,
    RequestId,
    Seek,
    Seeking,
    SessionOpened,
    Started,
    Welcome,
)

#: Seconds for which a lost connection is tried again; this process ends with its server anyway.
_RETRY_S = 60.0
#: Pauses of a bot that cannot enter the ladder, as after a kill, when its old match still runs.
_BACK_OFF = BackOff(1.0, 10.0)
#: The longest match against a house bot, and the longest wait for its start, in seconds.
MATCH_S, START_S = 900.0, 60.0
#: The matches for which a bot enters the ladder.
PAIR = 2
#: The reasons of a match without a result that are no fault of a bot.
_INTERRUPTED = (Reason.ABORTED, Reason.ADMINISTRATOR)
#: Reasons of a loss that are faults of a bot.
_FAULTS = (Reason.TIME, Reason.ILLEGAL_MOVES, Reason.ABANDONMENT, Reason.CRASH)
#: The threads in which programs are started and ended, which takes up to half a minute.
_pool = ThreadPoolExecutor(64, thread_name_prefix="programs")
#: Gives each match cores of its own, on which both bots run. A bot runs on the cores of the thread
#: that has started it, and the sandbox lets it choose no others.
_cores = Cores()

#: Returns the player of a game.
PlayerOf = Callable[[str], Player]
Show = Callable[[str], None]
#: Gets what a submission has used in a match, in any thread.
Used = Callable[[MatchUse], None]


class MatchPlayer(Player):
    """A submission in its sandbox, which is started for a match and ended after it."""

    def __init__(self, game: Game, engines: str, used: Used, cores: int) -> None:
        """`engines` is the file that describes it, as the engine `program`.

        It runs on so many `cores` of its match, on all with 0.
        """
        super().__init__(game)
        self._cores = cores
        self._seat = 0
        self._engines = engines
        self._used = used
        self._fault = ""
        self._engine: Future[Engine] | None = None

    def started(self, seat: int, opponent: str, position: Position) -> None:
        self._seat = seat
        self._engine = _pool.submit(self._start, _cores.take(self.match, self._cores))

    def _start(self, cores: Collection[int]) -> Engine:
        with kept_to(cores):
            return Engine(self.game, "program", self._engines)

    def choose(self, position: Position, limit: Limit, report: Report | None = None) -> PlayResult:
        assert self._engine
        try:
            engine = self._engine.result()
        except SpecError as error:
            raise PlayerError(str(error)) from error
        if self.cancelled.is_set():
            raise Cancelled
        try:
            return engine.choose(position, limit, report)
        except PlayerError as error:
            self._fault = str(error)
            raise

    def cancel(self) -> None:
        super().cancel()
        if engine := self._running():
            engine.cancel()

    def ready(self) -> None:
        super().ready()
        if engine := self._running():
            engine.ready()

    def _running(self) -> Engine | None:
        """Return the engine if it has started."""
        started = self._engine and self._engine.done() and not self._engine.exception()
        return self._engine.result() if self._engine and started else None

    def ended(self, winner: int, reason: str) -> None:
        self.close()

    def close(self) -> None:
        engine, self._engine = self._engine, None
        if engine:
            engine.add_done_callback(lambda done: _pool.submit(self._end, done))

    def _end(self, started: Future[Engine]) -> None:
        if not started.exception():
            engine = started.result()
            engine.close()
            used = engine.usage
            end = self._fault or MATCH_OVER
            cpu_s = round(used.cpu_s, 2)
            self._used(MatchUse(self.match, self._seat, cpu_s, used.memory_mb, end))
        _cores.give_back(self.match)


class ContestantConsole(PlayerConsole):
    """Keeps the matches of a bot, and shows its messages to `show`; on a ladder, its faults."""

    def __init__(self, show: Show, *, ladder: bool = False) -> None:
        super().__init__(Console(quiet=True), quiet=True)
        self._show = show
        self._ladder = ladder
        self.match = ""
        self.ends: list[Ended] = []

    def show(self, text: str) -> None:
        if not (self._ladder and text.startswith("The server says")):
            self._show(text)

    def joined(self, name: str) -> None:
        pass

    def seeking(self, event: Seeking, ours: bool) -> None:
        pass

    def started(self, event: Started) -> None:
        self.match = event.match
        if not self._ladder:
            super().started(event)

    def ended(self, event: Ended) -> None:
        self.ends.append(event)
        if not self._ladder or event.reason in (*_FAULTS, Reason.RESIGNATION):
            super().ended(event)


class Operator:
    """The connection of an administrator, which opens sessions of accounts."""

    def __init__(self, reactor: Any, server: ServerAddress, name: str, token: str) -> None:
        self.reactor = reactor
        self.server = server
        self._hello = hello(name, "spectator", software("playout-competition"), token)
        self._ids = itertools.count()
        self._asked: dict[RequestId | None, Deferred[SessionOpened]] = {}
        self._connection = server.connection(reactor, self, _RETRY_S, repeats_requests=True)
        #: Fires when the server has said welcome.
        self.ready: Deferred[None] = Deferred()

    def open(self) -> None:
        """Connect to the server, and again after a loss."""
        self._connection.open()

    def session(self, name: str) -> Deferred[SessionOpened]:
        """Open a session of an account. Fails with SessionRefused."""
        if not self._connection.is_open:
            return fail(SessionRefused("there is no connection to the server"))
        number, answer = next(self._ids), Deferred[SessionOpened]()
        self._asked[number] = answer
        self._connection.send(OpenSession(id=number, name=name))
        return answer

    def abort(self, match: str, text: str) -> None:
        """End a match without result, for a reason."""
        if self._connection.is_open:
            self._connection.send(Abort(match=match, text=text))

    # As a ServerListener.

    def connected(self) -> None:
        """Log in on a new connection."""
        self._connection.send(self._hello)

    def received(self, event: Event) -> None:
        """Pass an answer to the sender of its request."""
        match event:
            case Welcome():
                if not self.ready.called:
                    self.ready.callback(None)
            case SessionOpened(re=re) if re in self._asked:
                self._asked.pop(re).callback(event)
            case Error(re=re) if re in self._asked:
                self._asked.pop(re).errback(SessionRefused(event.text))

    def disconnected(self, reason: str) -> None:
        """Refuse the open requests: the connection is made again."""
        asked, self._asked = self._asked, {}
        for each in asked.values():
            each.errback(SessionRefused("the connection to the server was lost"))

    def retrying(self, text: str) -> None:
        """Do nothing: the server is starting."""

    def unreachable(self, reason: str) -> None:
        """End this process: it is useless without its server, which starts another."""
        self.reactor.stop()

    unusable = unreachable


class AbortedSession:
    """Resumes a session whose process was lost, ends its matches without result, and leaves.

    Until then, the server may begin further matches of the session.
    """

    def __init__(self, operator: Operator, opened: SessionOpened, text: str) -> None:
        """`text` is the reason."""
        self._operator = operator
        self._opened = opened
        self._text = text
        self._connection = operator.server.connection(operator.reactor, self, _RETRY_S)
        self._connection.open()

    # As a ServerListener.

    def connected(self) -> None:
        """Resume the session on a new connection."""
        program = software("playout-competition")
        self._connection.send(
            hello(self._opened.name, "bot", program, session=self._opened.session)
        )

    def received(self, event: Event) -> None:
        """End the matches that the server sends; the answer to the ping follows them."""
        match event:
            case Welcome():
                self._connection.send(Ping(id="ping"))
            case Started(match=match):
                self._operator.abort(match, self._text)
            case Pong() | Error():
                self._connection.close()

    def disconnected(self, reason: str) -> None:
        """Do nothing: the connection is made again."""

    def retrying(self, text: str) -> None:
        """Do nothing: the server is busy."""

    def unreachable(self, reason: str) -> None:
        """Give up: the server has ended."""
        self._connection.close()

    unusable = unreachable


class SessionRefused(Exception):
    """The server opens no session of a name; the message says why."""


def play(
    reactor: Any,
    server: ServerAddress,
    opened: SessionOpened,
    player_of: PlayerOf,
    request: PlayRequest,
    console: ContestantConsole,
) -> tuple[Agent, Deferred[int]]:
    """Let a bot log in and play; return it, and its end with its exit code."""
    ended: Deferred[int] = Deferred()
    identity = Identity(opened.name, "bot", software("playout-competition"), session=opened.session)
    agent = Agent(reactor, player_of, request, identity, console, ended.callback)
    connection = server.connection(
        reactor, agent, _RETRY_S, measures_round_trip=True, repeats_requests=True
    )
    agent.use(connection)
    connection.open()
    return agent, ended


class LadderBot(ABC):
    """A bot on the ladder of its competition: it enters for a pair of matches, again and again.

    Between two pairs it waits, for a second more with each match, up to a limit: so a new version
    is rated soon, and settled ones neither take all cores nor fill the database.
    """

    def __init__(self, operator: Operator, name: str, show: Show, pause_s: float) -> None:
        """`show` gets its faults; `pause_s` is the longest wait."""
        self._operator = operator
        self._name = name
        self._show = show
        self._pause_s = pause_s
        self._left = False

    async def run(self) -> None:
        """Play matches until `leave` is called."""
        restarts = Restarts(_BACK_OFF)
        played = 0
        while not self._left:
            try:
                ended = await self._play_pair()
            except SessionRefused as refused:
                self._show(f"{self._name} cannot enter the ladder: {refused}")
                ended = 0
            played += ended
            wait_s = min(self._pause_s, played)
            if ended:
                restarts.succeeded()
            else:
                wait_s = restarts.failed(time.monotonic())
            if not self._left:
                await deferLater(self._operator.reactor, wait_s, lambda: None)

    def leave(self) -> None:
        """Leave the ladder after the current match."""
        self._left = True
        self._interrupt()

    @abstractmethod
    async def _play_pair(self) -> int:
        """Play a pair of matches; return how many have ended. Raises SessionRefused."""

    @abstractmethod
    def _interrupt(self) -> None:
        """Play no match after the current one."""


class LocalLadderBot(LadderBot):
    """A bot that plays in this process."""

    def __init__(
        self,
        operator: Operator,
        name: str,
        request: EnterLadder,
        player_of: PlayerOf,
        show: Show,
        pause_s: float,
    ) -> None:
        super().__init__(operator, name, show, pause_s)
        self._request = PlayRequest(request, PAIR)
        self._player_of = player_of
        self._agent: Agent | None = None

    async def _play_pair(self) -> int:
        console = ContestantConsole(self._show, ladder=True)
        opened = await self._operator.session(self._name)
        to = self._operator.reactor, self._operator.server
        self._agent, ended = play(*to, opened, self._player_of, self._request, console)
        await ended
        return len(console.ends)

    def _interrupt(self) -> None:
        if self._agent:
            self._agent.interrupt()


class MatchFault(Exception):
    """A bot has not played a match as it should; the message says what happened."""


class MatchInterrupted(Exception):
    """A match was not played to its end, for a reason on the side of the server."""


async def play_match(
    operator: Operator, seek: Seek, name: str, player_of: PlayerOf, rival: PlayerOf, show: Show
) -> str:
    """Let a bot play one match against a house bot, which the seek names; return the match.

    Raises MatchFault, and for faults of the server MatchInterrupted, SessionRefused.
    """
    assert seek.opponent
    assert seek.seat
    answer = Seek(game=seek.game, clock=seek.clock, opponent=name, seat=3 - seek.seat)  # type: ignore[arg-type]
    console, silent = ContestantConsole(show), ContestantConsole(lambda text: None)
    # If the server refuses a session, nothing has begun yet.
    opened, its = await operator.session(name), await operator.session(seek.opponent)
    to = operator.reactor, operator.server
    agent, ended = play(*to, opened, player_of, PlayRequest(seek, 1), console)
    house, house_ended = play(*to, its, rival, PlayRequest(answer, 1), silent)
    later = operator.reactor.callLater
    timers = (
        later(MATCH_S, agent.leave, 1),
        later(START_S, lambda: None if console.match else agent.leave(1)),
    )
    await ended
    for timer in timers:
        if timer.active():
            timer.cancel()
    house.leave(0)
    await house_ended
    if not console.match:
        raise MatchInterrupted(f"no match against {seek.opponent} has begun in {START_S:g} s")
    if not console.ends:
        raise MatchFault(f"the match against {seek.opponent} has not ended in {MATCH_S:g} s")
    end = console.ends[-1]
    lost = end.winner == 3 - seek.seat
    if end.reason in _INTERRUPTED:
        raise MatchInterrupted(f"match {end.match} has no result: {end.text} ({end.reason})")
    if agent.counts.faults or (lost and end.reason in _FAULTS) or end.reason is Reason.VOID:
        raise MatchFault(f"match {end.match} against {seek.opponent}: {end.text} ({end.reason})")
    return end.match


def wait_for_programs() -> None:
    """Wait until the programs of ended matches have exited; no more are started."""
    _pool.shutdown()


def submission_player(engines: str, used: Used, cores: int = 0) -> PlayerOf:
    """Return the function that makes the player of a submission for each match."""
    return lambda game: MatchPlayer(games.load(game), engines, used, cores)
