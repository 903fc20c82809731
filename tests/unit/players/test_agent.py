"""players.client.agent: a connected player, step by step, without network, server or threads."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from twisted.internet.task import Clock as FakeClock
from twisted.python.failure import Failure

from playout import games
from playout.commands.identity import GivenToken, Identity, SavedAccount, TokenFile
from playout.games import Game, Position, SpecError, State
from playout.games.core import spec
from playout.players import (
    ActionStats,
    Cancelled,
    Info,
    Limit,
    MatchRequest,
    MatchRequested,
    Node,
    Player,
    PlayerError,
    PlayResult,
    Report,
    Resigned,
    TimeLeft,
)
from playout.players.client import player_console
from playout.players.client.active_match import STEPS, Doing, MoveQuery
from playout.players.client.agent import Agent, PlayerCache, PlayRequest
from playout.players.client.match_driver import GRACE_S
from playout.players.client.player_console import PlayerConsole
from playout.players.client.trees import TreeFile
from playout.protocol.messages import (
    Abort,
    AnswerOffer,
    ClockState,
    Closing,
    Code,
    Ended,
    EnterLadder,
    Error,
    Hello,
    Join,
    LeaveLadder,
    Move,
    Notice,
    Offer,
    OfferClosed,
    Offered,
    OfferKind,
    Ok,
    OpenOffer,
    Ping,
    Pong,
    Reason,
    Request,
    RequestId,
    Resign,
    Seat,
    Seek,
    Started,
    TakenBack,
    TakeOver,
    TimeControl,
    Unwatch,
    Update,
    Watch,
    Welcome,
    WithdrawOffer,
)

GAME = games.load("nim(chips=9)")
TAKE_1, TAKE_2, TAKE_3 = 0, 1, 2
LEGAL = "legal are, as number (name): 0 (1), 1 (2), 2 (3)"
SEEKING = PlayRequest(Seek(game="nim(chips=9)"), 1)
ENTERING = PlayRequest(Join())


class FakeReactor(FakeClock):
    """Time that is told to pass, and one thread, whose work is done when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.work: list[Callable[[], None]] = []

    def getThreadPool(self) -> FakeReactor:
        return self

    def callInThreadWithCallback(
        self,
        on_result: Callable[[bool, object], None],
        think: Callable[..., object],
        *arguments: object,
    ) -> None:
        def work() -> None:
            try:
                on_result(True, think(*arguments))
            except Exception:
                on_result(False, Failure())

        self.work.append(work)

    def callFromThread(self, call: Callable[..., None], *arguments: object) -> None:
        call(*arguments)


class FakeConnection:
    """Stores the requests that were sent."""

    round_trip_s = 0.0

    def __init__(self) -> None:
        self.sent: list[Request] = []
        self.broken = False
        self.closed = False
        self.hung_up = False

    def send(self, request: Request) -> None:
        if not self.broken:
            self.sent.append(request)

    def close(self) -> None:
        self.closed = True

    def reconnect(self) -> None:
        self.hung_up = True


class Thinker(Player):
    """Takes one chip, or does what the test tells it to."""

    def __init__(self, game: Game, ponders: bool = False) -> None:
        super().__init__(game)
        self.ponders = ponders
        self.answer: Callable[[], PlayResult] = lambda: PlayResult(TAKE_1)
        self.ponder_until_cancelled = True
        self.calls: list[tuple[str, int]] = []
        self.limits: list[Limit] = []
        self.reports: list[Info] = []
        self.positions: list[Position] = []

    def choose(self, position: Position, limit: Limit, report: Report | None = None) -> PlayResult:
        self.calls.append(("choose", position.ply))
        self.limits.append(limit)
        self.positions.append(position)
        for info in self.reports if report else ():
            report(info)
        if self.cancelled.is_set():
            raise Cancelled
        return self.answer()

    def ponder(self, position: Position) -> None:
        self.calls.append(("ponder", position.ply))
        if self.ponder_until_cancelled:
            assert self.cancelled.is_set(), "without a cancellation this would never end"
            raise Cancelled

    def tree(self, min_visits: int = 1) -> Node | None:
        return Node(None, 100, 0.5)


class AgentHarness:
    """An agent, everything around it, and the server's part, played by the test."""

    def __init__(
        self,
        player: Thinker | None = None,
        identity: Identity | None = None,
        request: PlayRequest = SEEKING,
        *,
        terminal: bool = False,
        **options: Any,
    ) -> None:
        self.reactor, self.connection, self.player = (
            FakeReactor(),
            FakeConnection(),
            player or Thinker(GAME),
        )
        self.output = io.StringIO()
        self.codes: list[int] = []
        self.agent = Agent(
            self.reactor,
            self.player_of,
            request,
            identity or Identity("Ann", "bot", "test"),
            PlayerConsole(Console(file=self.output, width=200, force_terminal=terminal), **options),
            self.codes.append,
        )
        self.agent.use(self.connection)  # type: ignore[arg-type]
        self.moves: list[int] = []
        self.connect()

    def player_of(self, game: str) -> Player:
        """Always the same."""
        return self.player

    def connect(self) -> None:
        """Connect and log in; the server may send matches afterwards."""
        self.connection.broken = False
        self.agent.connected()
        self.welcome()

    def welcome(self, **more: Any) -> None:
        """One is let in."""
        self.agent.received(
            Welcome(protocol=1, session="s", name="Ann", software="", games=(), **more)
        )

    def refuse(self, re: RequestId | None, code: Code, seconds: float | None = None) -> None:
        """Something is not done."""
        self.agent.received(Error(re=re, code=code, text="no", seconds=seconds))

    def resumed(self) -> None:
        """All about running matches was said."""
        self.agent.received(Pong(re="ping"))

    def disconnect(self) -> None:
        self.connection.broken = True
        self.agent.disconnected("a test")

    def start(
        self,
        seat: int | None = 1,
        clock: ClockState | None = None,
        game: str = "nim(chips=9)",
        match: str = "m",
    ) -> None:
        """A match begins, is taken up again with all moves so far, or is only shown."""
        self.agent.received(
            Started(
                match=match,
                game=game,
                players=("Bob", "Ann") if seat == 2 else ("Ann", "Bob"),
                seat=seat,  # type: ignore[arg-type]
                clock="none" if clock is None else "60+0",
                time_control=None if clock is None else TimeControl(60.0, 0.0, 0, 0.0),
                clocks=None if clock is None else (clock, clock),
                moves=tuple(self.moves),
                state=self.state,
                to_move=1,
            )
        )

    @property
    def state(self) -> State:
        state = Position(GAME, self.moves).state
        return state

    def play(self, action: int, match: str = "m") -> None:
        """Somebody's move is announced."""
        ply, mover = len(self.moves), self.state[0]
        self.moves.append(action)
        self.agent.received(
            Update(
                match=match,
                ply=ply,
                player=mover,  # type: ignore[arg-type]
                action=action,
                state=self.state,
                to_move=self.state[0],
            )
        )

    def end(self, winner: int = 2, reason: Reason = Reason.RESIGNATION, match: str = "m") -> None:
        self.agent.received(
            Ended(
                match=match,
                winner=winner,
                returns=(0.0, 1.0),
                reason=reason,
                text="Bob won",
                state=self.state,
            )
        )

    def think(self) -> None:
        """Let the player do what it was given, all at once; it must be one thing."""
        (work,) = self.reactor.work
        self.reactor.work.clear()
        work()

    @property
    def thinking(self) -> bool:
        return bool(self.reactor.work)

    @property
    def shown(self) -> str:
        return self.output.getvalue()

    def sent(self, *kinds: type[Request]) -> list[Request]:
        """What was sent since the last time, of those kinds."""
        sent = [each for each in self.connection.sent if isinstance(each, kinds or (Move, Resign))]
        self.connection.sent.clear()
        return sent


@pytest.fixture
def harness() -> AgentHarness:
    return AgentHarness(Thinker(GAME))


@pytest.fixture
def pondering() -> AgentHarness:
    """In a match where the opponent is to move."""
    harness = AgentHarness(Thinker(GAME, ponders=True))
    harness.start(seat=2)
    return harness


def test_every_state_and_query_has_a_step() -> None:
    assert set(STEPS) == set(itertools.product(Doing, MoveQuery))


def test_a_move_is_chosen_and_sent_once() -> None:
    harness = AgentHarness(Thinker(GAME))
    assert [type(each) for each in harness.sent(Hello, Ping)] == [Hello, Ping]
    harness.resumed()
    assert harness.sent(Seek)
    harness.start(clock=ClockState(60.0, 0))
    harness.think()
    assert harness.sent() == [Move(id=0, match="m", ply=0, action=TAKE_1)]
    assert not harness.thinking
    (limit,) = harness.player.limits
    assert limit.time_carries_over
    assert limit.seconds
    harness.play(TAKE_1)
    assert not harness.thinking
    harness.play(TAKE_3)
    harness.think()
    assert harness.sent() == [Move(id=2, match="m", ply=2, action=TAKE_1)]
    assert [each.moves for each in harness.player.positions] == [(), (TAKE_1, TAKE_3)]


def test_a_player_is_told_the_clocks_of_both(harness: AgentHarness) -> None:
    harness.start(clock=ClockState(59.0, 0))
    harness.think()
    clock = harness.player.limits[0].clock
    assert clock is not None
    assert (clock.start, clock.left) == (TimeLeft(60.0), (TimeLeft(59.0), TimeLeft(59.0)))


def test_a_player_that_cannot_continue_resigns_and_says_why(harness: AgentHarness) -> None:
    def fail() -> PlayResult:
        raise PlayerError("the engine has crashed")

    harness.player.answer = fail
    harness.start()
    harness.think()
    assert harness.sent() == [Resign(id="resign", match="m", crash="the engine has crashed")]
    assert "The player crashed, and loses its match: the engine has crashed\n" in harness.shown
    assert harness.agent.counts.faults == 1


def test_a_move_of_the_wrong_kind_is_thought_over_again(harness: AgentHarness) -> None:
    harness.start()
    harness.think()
    harness.agent.received(Error(re=0, code=Code.ILLEGAL_ACTION, text="no"))
    harness.think()
    assert [type(each) for each in harness.sent()] == [Move, Move]


def test_a_choice_made_after_the_line_broke_is_made_again_when_it_is_back(
    harness: AgentHarness,
) -> None:
    harness.start()
    harness.disconnect()
    harness.think()
    assert not harness.thinking
    harness.connect()
    harness.start()
    harness.resumed()
    harness.think()
    assert harness.sent() == [Move(id=0, match="m", ply=0, action=TAKE_1)]


def test_a_choice_goes_on_while_the_line_is_broken(harness: AgentHarness) -> None:
    harness.start()
    harness.disconnect()
    harness.connect()
    harness.start()
    harness.resumed()
    harness.think()
    assert harness.sent() == [Move(id=0, match="m", ply=0, action=TAKE_1)]
    assert harness.player.calls == [("choose", 0)]


def test_a_move_that_was_lost_with_the_line_is_sent_again(harness: AgentHarness) -> None:
    harness.start()
    harness.connection.broken = True
    harness.think()
    harness.disconnect()
    assert not harness.sent()
    harness.connect()
    harness.start()
    harness.think()
    assert harness.sent() == [Move(id=0, match="m", ply=0, action=TAKE_1)]


def test_a_choice_is_dropped_when_the_match_went_on_elsewhere(harness: AgentHarness) -> None:
    """Our move was sent just before the connection was lost; it and a reply were played."""
    harness.start()
    harness.disconnect()
    harness.moves = [TAKE_2, TAKE_2]
    harness.connect()
    harness.start()
    harness.think()
    assert not harness.sent()
    harness.think()
    assert harness.sent() == [Move(id=2, match="m", ply=2, action=TAKE_1)]
    assert harness.player.calls == [("choose", 0), ("choose", 2)]
    assert harness.player.positions[-1].moves == (TAKE_2, TAKE_2)


def test_a_match_that_is_over_ends_the_choice(harness: AgentHarness) -> None:
    harness.start()
    harness.end()
    assert harness.player.cancelled.is_set()
    assert not harness.codes  # not before the player has stopped
    harness.think()
    assert harness.codes == [0]
    assert not harness.sent()
    assert harness.agent.counts.lost == 1


def test_a_player_that_thinks_on_after_its_match_is_given_up(harness: AgentHarness) -> None:
    harness.start(clock=ClockState(60.0, 0))
    harness.end()
    harness.reactor.advance(GRACE_S)
    assert not harness.codes, "it may use the time that it was given"
    harness.reactor.advance(60.0)
    assert harness.codes == [1]
    assert "The player still thinks, although its match is over" in harness.shown


def test_a_player_that_fails_outside_of_its_turn_is_given_up(
    harness: AgentHarness, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise AttributeError("no attribute 'cancelled'")

    monkeypatch.setattr(harness.player, "ready", fail)
    harness.start()
    assert harness.codes == [1]
    assert harness.connection.closed, "instead of failing on connection after connection"
    assert "The player failed, and cannot go on:" in harness.shown
    assert capsys.readouterr().err.count("Traceback") == 1


def test_an_end_that_is_told_twice_counts_once(harness: AgentHarness) -> None:
    harness.start()
    harness.end()
    harness.disconnect()
    harness.connect()
    harness.end()
    harness.resumed()
    harness.think()
    assert harness.agent.counts.lost == 1
    assert harness.codes == [0]


def test_the_end_of_a_match_is_heard_of_when_the_line_is_back(harness: AgentHarness) -> None:
    harness.start()
    harness.think()
    harness.disconnect()
    harness.sent()
    harness.connect()
    harness.end(winner=0)
    harness.end(winner=0)
    assert not harness.sent(Seek)  # there may be more to hear about running matches
    harness.resumed()
    assert len(harness.sent(Seek)) == 1
    harness.resumed()
    assert harness.agent.counts.void == 1


@pytest.mark.parametrize(
    ("human", "seat", "leaves"), [(True, 1, True), (True, 2, False), (False, 1, False)]
)
def test_a_person_who_is_not_there_is_given_no_other_match(
    human: bool, seat: int, leaves: bool
) -> None:
    harness = AgentHarness(Thinker(GAME))
    harness.player.human = human
    harness.resumed()
    harness.sent()
    harness.start(seat=seat)
    harness.end(winner=0, reason=Reason.VOID)
    if harness.thinking:
        harness.think()
    assert harness.codes == ([1] if leaves else [])
    assert bool(harness.sent(Seek)) is not leaves


def test_a_player_that_never_makes_a_first_move_in_time_is_given_no_match_for_ever() -> None:
    harness = AgentHarness(Thinker(GAME))
    harness.resumed()
    for number in range(3):
        assert not harness.codes
        assert harness.sent(Seek)
        harness.start(match=f"m{number}")
        harness.end(winner=0, reason=Reason.VOID, match=f"m{number}")
        harness.think()
    assert harness.codes == [1]
    assert not harness.sent(Seek)


def test_a_match_whose_end_is_never_told(harness: AgentHarness) -> None:
    harness.start()
    harness.disconnect()
    harness.connect()
    harness.resumed()
    harness.think()
    assert harness.agent.counts.void == 1
    assert harness.sent(Seek), "another one is looked for"


@pytest.mark.parametrize("error", [ZeroDivisionError("oops"), Cancelled(), Resigned()])
def test_a_player_that_raises_resigns_once(harness: AgentHarness, error: Exception) -> None:
    def answer() -> PlayResult:
        raise error

    harness.player.answer = answer
    harness.start()
    harness.think()
    (resigned,) = harness.sent(Resign)
    name = f"{type(error).__name__}: {error}".rstrip(": ")
    expected = None if isinstance(error, Resigned) else name
    assert resigned == Resign(id="resign", match="m", crash=expected)
    assert not harness.thinking
    harness.end()
    assert harness.codes == [0 if isinstance(error, Resigned) else 1]


def test_a_resignation_that_was_lost_with_the_line_is_said_again(harness: AgentHarness) -> None:
    harness.start()
    harness.disconnect()
    harness.player.answer = lambda: PlayResult(1 // 0)
    harness.think()
    assert not harness.sent()
    harness.connect()
    harness.start()
    crash = "ZeroDivisionError: integer division or modulo by zero"
    assert harness.sent() == [Resign(id="resign", match="m", crash=crash)]
    assert not harness.thinking


def test_leaving_resigns_and_waits_for_the_player(harness: AgentHarness) -> None:
    harness.start()
    harness.agent.leave(130)
    assert harness.sent() == [Resign(id="resign", match="m")]
    harness.end()
    assert not harness.codes
    harness.think()
    assert harness.codes == [130]
    assert harness.connection.closed


def test_leaving_does_not_wait_for_ever(harness: AgentHarness) -> None:
    harness.start()
    harness.agent.leave(130)
    harness.reactor.advance(3)
    assert harness.codes == [130]
    harness.think()
    assert not harness.thinking


# Thinking on the opponent's time.


@pytest.mark.parametrize(
    ("action", "state", "expected"),
    [
        (TAKE_3 + 1, (2, 0, 5), f"action 3 (no action) is not legal here; {LEGAL}"),
        (-1, (2, 0, 9), f"action -1 (no action) is not legal here; {LEGAL}"),
        (TAKE_3, (2, 0, 2**40), "the position after the last move is different"),
        (TAKE_3, (2, 0), "the position after the last move is different"),
    ],
)
def test_a_position_that_breaks_the_rules_is_never_given_to_the_player(
    harness: AgentHarness, action: int, state: State, expected: str
) -> None:
    harness.start(seat=2)
    harness.agent.received(
        Update(match="m", ply=0, player=1, action=action, state=state, to_move=2)
    )
    assert harness.sent() == [Resign(id="resign", match="m")]
    assert not harness.thinking
    assert (
        f"The server's rules of nim(chips=9) differ from those of this player: {expected}. "
        "The player resigns match m."
    ) in harness.shown
    assert harness.agent.counts.faults == 1


@pytest.mark.parametrize(
    ("ply", "state", "expected"),
    [
        (-1, (1, 0, 9), "of 1 moves, -1 are to remain"),
        (2, (1, 0, 5), "of 1 moves, 2 are to remain"),
        (0, (1, 0, 2**40), "the position after the last move is different"),
    ],
)
def test_a_takeback_to_a_position_that_was_not_there_is_never_given_to_the_player(
    harness: AgentHarness, ply: int, state: State, expected: str
) -> None:
    harness.start(seat=1)
    harness.think()
    harness.play(TAKE_1)
    harness.sent()
    harness.agent.received(TakenBack(match="m", ply=ply, player=1, state=state, to_move=state[0]))
    assert harness.sent() == [Resign(id="resign", match="m")]
    assert not harness.thinking
    assert f"differ from those of this player: {expected}. " in harness.shown


def test_a_match_that_begins_by_other_rules_is_resigned(harness: AgentHarness) -> None:
    harness.moves = [TAKE_1]
    harness.agent.received(
        Started(
            match="m",
            game="nim(chips=9)",
            players=("Ann", "Bob"),
            seat=1,
            clock="none",
            moves=(TAKE_1, TAKE_3 + 1),
            state=harness.state,
            to_move=1,
        )
    )
    assert harness.sent() == [Resign(id="resign", match="m")]
    assert not harness.thinking
    assert "action 3 (no action) is not legal here" in harness.shown


def test_a_player_without_pondering_waits(harness: AgentHarness) -> None:
    harness.start(seat=2)
    assert not harness.thinking


def test_pondering_ends_with_the_opponents_move(pondering: AgentHarness) -> None:
    assert pondering.thinking
    pondering.play(TAKE_2)
    assert pondering.player.cancelled.is_set()
    pondering.think()
    assert pondering.player.calls == [("ponder", 0)]
    pondering.think()
    assert pondering.sent() == [Move(id=1, match="m", ply=1, action=TAKE_1)]
    assert not pondering.thinking  # the server has not said yet that it was played
    pondering.play(TAKE_1)
    pondering.play(TAKE_1)
    pondering.think()
    pondering.think()
    assert pondering.player.calls[2:] == [("ponder", 2), ("choose", 3)]


def test_pondering_that_ends_by_itself_does_not_begin_again(pondering: AgentHarness) -> None:
    pondering.player.ponder_until_cancelled = False
    pondering.think()
    assert not pondering.thinking
    pondering.play(TAKE_2)
    pondering.think()
    assert pondering.player.calls == [("ponder", 0), ("choose", 1)]


def test_a_match_that_ends_while_pondering(pondering: AgentHarness) -> None:
    pondering.end(winner=1)
    assert not pondering.codes
    pondering.think()
    assert pondering.codes == [0]
    assert not pondering.sent()


def test_the_last_move_of_a_match_is_not_pondered_on(pondering: AgentHarness) -> None:
    pondering.player.ponder_until_cancelled = False
    pondering.think()
    for action in (TAKE_3, TAKE_3, TAKE_3):
        pondering.play(action)
        if pondering.thinking:
            pondering.think()
    assert pondering.state[1] == 1
    assert not pondering.thinking


def test_pondering_stops_while_the_line_is_broken(pondering: AgentHarness) -> None:
    pondering.disconnect()
    assert pondering.player.cancelled.is_set()
    pondering.connect()
    pondering.start(seat=2)  # before it has stopped
    pondering.think()
    assert pondering.thinking
    pondering.play(TAKE_1)
    pondering.think()
    pondering.think()
    assert pondering.player.calls == [("ponder", 0), ("ponder", 0), ("choose", 1)]


def test_pondering_stops_when_we_leave(pondering: AgentHarness) -> None:
    pondering.agent.leave(143)
    assert pondering.player.cancelled.is_set()
    pondering.think()
    assert not pondering.thinking
    pondering.end()
    assert pondering.codes == [143]


def test_a_player_that_fails_while_pondering_resigns(pondering: AgentHarness) -> None:
    pondering.think()  # an assertion: it was not cancelled
    (resigned,) = pondering.sent(Resign)
    assert isinstance(resigned, Resign)
    assert resigned.crash
    assert resigned.crash.startswith("AssertionError: without a cancellation")
    assert pondering.agent.counts.faults == 1


# What is reported.


@pytest.mark.parametrize("answered", [False, True])
def test_a_move_that_was_played_while_the_line_was_broken_is_reported_then(
    tmp_path: Path, answered: bool
) -> None:
    file = tmp_path / "tree.txt"
    harness = AgentHarness(Thinker(GAME), tree_file=TreeFile(file))
    harness.start()
    harness.think()
    harness.disconnect()
    harness.moves = [TAKE_1, TAKE_2] if answered else [TAKE_1]
    harness.connect()
    harness.start()
    assert "player 1 to move" in file.read_text()
    file.unlink()
    if not answered:
        harness.play(TAKE_2)
    assert not file.exists()


def test_a_move_that_was_lost_with_the_line_is_never_reported(tmp_path: Path) -> None:
    file = tmp_path / "tree.txt"
    harness = AgentHarness(Thinker(GAME), tree_file=TreeFile(file))
    harness.start()
    harness.think()
    harness.disconnect()
    harness.connect()
    harness.start()
    harness.play(TAKE_1)  # it was heard after all; the player is thinking about it again
    assert not file.exists()


def searching(infos: int, **options: Any) -> str:
    """Return what is printed about a search with some reports, before its move."""
    harness = AgentHarness(Thinker(GAME), terminal=True, **options)
    harness.start()
    before = len(harness.shown)
    harness.player.reports = [Info(simulations=n, pv=(TAKE_2, TAKE_1)) for n in range(infos)]
    harness.think()
    return harness.shown[before:]


def test_a_long_search_is_shown_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert searching(2) == "", "the search is short"
    monkeypatch.setattr(player_console, "PROGRESS_S", 0.0)
    first, second = searching(2).splitlines()
    assert first.startswith("... 0 simulations in ")
    assert first.endswith("expects 2 1")
    assert second.startswith("... 1 simulations in ")
    assert searching(2, quiet=True) == ""


def test_a_player_that_says_nonsense_resigns(harness: AgentHarness) -> None:
    info = Info(actions=(ActionStats(TAKE_1, 1, 1.0, amaf="high"),))  # type: ignore[arg-type]
    harness.player.answer = lambda: PlayResult(TAKE_1, info)
    harness.start()
    harness.think()
    harness.play(TAKE_1)
    assert [type(each) for each in harness.sent()] == [Move, Resign]
    assert harness.agent.counts.faults == 1


# Trees.


def test_the_tree_of_each_move_is_written(tmp_path: Path) -> None:
    file = tmp_path / "tree.txt"
    player = Thinker(GAME)
    player.answer = lambda: PlayResult(TAKE_2, Info(actions=(ActionStats(TAKE_2, 100, 50.0),)))
    harness = AgentHarness(player, tree_file=TreeFile(file))
    harness.start()
    harness.think()
    assert not file.exists()  # its clock runs until the move is played
    harness.play(TAKE_2)
    assert "player 1 to move" in file.read_text()
    assert "root, 100 visits, 50.0%" in file.read_text()


def test_a_tree_that_cannot_be_written_costs_no_match(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    harness = AgentHarness(Thinker(GAME), tree_file=TreeFile(folder / "tree.txt"))
    folder.rmdir()
    harness.start()
    harness.think()
    harness.play(TAKE_2)
    assert [type(each) for each in harness.sent()] == [Move]


# Saying hello.


@pytest.fixture
def file(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path, lambda text: None)


@pytest.fixture
def account(file: TokenFile) -> SavedAccount:
    return SavedAccount(file, "server:1", "Ann")


class LoginHarness(AgentHarness):
    """A server that says welcome only when the test does."""

    def __init__(self, account: SavedAccount | None, any_name: bool = False) -> None:
        super().__init__(identity=Identity("Ann", "bot", "test", account, any_name=any_name))

    def connect(self) -> None:
        self.connection.broken = False
        self.agent.connected()

    def refuse_hello(self, code: Code, seconds: float | None = None) -> None:
        self.refuse("hello", code, seconds)
        self.reactor.advance(0)

    def hello(self) -> Hello:
        (hello,) = self.sent(Hello)
        assert isinstance(hello, Hello)
        return hello

    @property
    def has_given_up(self) -> bool:
        return self.codes == [1] and self.connection.closed


def test_a_free_name_is_registered_and_its_token_kept(
    account: SavedAccount, file: TokenFile
) -> None:
    login = LoginHarness(account)
    hello = login.hello()
    assert hello.token is None
    assert not hello.guest
    login.welcome(token="secret")
    assert file.get("server:1", "Ann") == "secret"
    assert str(file.path) in login.shown
    assert "secret" not in login.shown
    login.disconnect()
    login.sent()
    login.connect()
    again = login.hello()
    assert (again.token, again.session) == ("secret", "s")


def test_a_renewed_token_replaces_the_one_in_the_file(
    account: SavedAccount, file: TokenFile
) -> None:
    file.keep("server:1", "Ann", "old")
    login = LoginHarness(account)
    assert login.hello().renew_token
    login.welcome(token="new", token_left_s=1000.0)
    assert file.get("server:1", "Ann") == "new"
    assert "has a new token" in login.shown


def test_a_given_token_is_not_renewed_and_its_end_is_said(file: TokenFile) -> None:
    login = LoginHarness(SavedAccount(file, "server:1", "Ann", GivenToken("t", "PLAYOUT_TOKEN")))
    assert not login.hello().renew_token
    login.welcome(token_left_s=2 * 86_400.0)
    assert "PLAYOUT_TOKEN expires in 2.0 days" in login.shown


def test_a_guest_has_no_token() -> None:
    hello = LoginHarness(None).hello()
    assert hello.guest
    assert hello.token is None


def test_a_guest_takes_another_name_if_any_will_do() -> None:
    login = LoginHarness(None, any_name=True)
    login.sent()
    login.refuse_hello(Code.NAME_TAKEN)
    assert login.hello().name.startswith("Ann-")
    login = LoginHarness(None)
    login.refuse_hello(Code.NAME_TAKEN)
    assert login.has_given_up
    assert "The name Ann is taken: use another --name" in login.shown


def test_an_account_that_the_server_has_lost_is_registered_anew(
    account: SavedAccount, file: TokenFile
) -> None:
    file.keep("server:1", "Ann", "old")
    login = LoginHarness(account)
    assert login.hello().token == "old"
    login.refuse_hello(Code.UNKNOWN_ACCOUNT)
    assert login.hello().token is None
    login.welcome(token="new")
    assert file.get("server:1", "Ann") == "new"


def test_a_token_that_was_given_is_not_replaced_by_a_new_account(file: TokenFile) -> None:
    login = LoginHarness(
        SavedAccount(file, "server:1", "Ann", GivenToken("secret", "PLAYOUT_TOKEN"))
    )
    login.refuse_hello(Code.UNKNOWN_ACCOUNT)
    assert login.has_given_up
    assert "leave out the token that comes from PLAYOUT_TOKEN" in login.shown


def test_two_players_may_register_their_account_at_once(
    account: SavedAccount, file: TokenFile
) -> None:
    login = LoginHarness(account)
    login.sent()
    login.refuse_hello(Code.NAME_TAKEN)
    file.keep("server:1", "Ann", "theirs")
    assert not login.sent(Hello)
    login.reactor.advance(1)
    assert login.hello().token == "theirs"


def test_a_second_hello_is_not_sent_on_a_new_connection(account: SavedAccount) -> None:
    login = LoginHarness(account)
    login.sent()
    login.refuse_hello(Code.NAME_TAKEN)
    login.disconnect()
    login.connect()
    login.sent()
    login.reactor.advance(1)
    assert not login.sent(Hello)


def test_a_name_of_another_account_is_given_up(account: SavedAccount) -> None:
    login = LoginHarness(account)
    login.refuse_hello(Code.NAME_TAKEN)
    login.reactor.advance(1)
    login.refuse_hello(Code.NAME_TAKEN)
    assert login.has_given_up
    assert "Ann belongs to another account: use another --name" in login.shown


def test_a_wrong_token_is_said_to_be_in_its_file(account: SavedAccount, file: TokenFile) -> None:
    file.keep("server:1", "Ann", "stale")
    login = LoginHarness(account)
    login.refuse_hello(Code.BAD_TOKEN)
    assert login.has_given_up
    assert str(file.path) in login.shown
    assert "stale" not in login.shown


def test_a_token_that_was_corrected_meanwhile_is_tried(
    account: SavedAccount, file: TokenFile
) -> None:
    file.keep("server:1", "Ann", "stale")
    login = LoginHarness(account)
    login.sent()
    file.keep("server:1", "Ann", "right")
    login.refuse_hello(Code.BAD_TOKEN)
    assert login.hello().token == "right"


def test_a_file_that_breaks_meanwhile_is_explained(account: SavedAccount, file: TokenFile) -> None:
    login = LoginHarness(account)
    file.path.write_text("{")
    login.welcome(token="secret")
    assert "cannot be stored" in login.shown
    login.disconnect()
    login.connect()
    assert login.has_given_up
    assert "is broken" in login.shown


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (Code.REGISTRATION_CLOSED, "Ask the operator"),
        (Code.RATE_LIMITED, "no (rate_limited)"),  # for longer than one is willing to wait
        (Code.KICKED, "no (kicked)"),
        (Code.UNSUPPORTED_PROTOCOL, "no (unsupported_protocol)"),
    ],
)
def test_a_refused_hello_ends_with_advice(account: SavedAccount, code: Code, advice: str) -> None:
    login = LoginHarness(account)
    login.refuse_hello(code)
    assert login.has_given_up
    assert advice in login.shown


def test_requests_that_guests_may_not_send_are_explained() -> None:
    login = LoginHarness(None)
    login.welcome()
    login.resumed()
    login.refuse("play", Code.NOT_FOR_GUESTS)
    assert login.has_given_up
    assert "Use an account: --name" in login.shown


@pytest.mark.parametrize("code", [Code.TOO_MANY, Code.CLOSING])
def test_a_server_that_is_full_or_stopping_is_tried_later(
    account: SavedAccount, code: Code
) -> None:
    login = LoginHarness(account)
    login.refuse_hello(code)
    assert login.connection.hung_up
    assert not login.codes


def test_a_disconnected_player_does_not_reconnect(harness: AgentHarness) -> None:
    harness.refuse(None, Code.KICKED)
    assert harness.codes == [1]


@pytest.mark.parametrize("code", [Code.TIMEOUT, Code.TOO_MANY, Code.RATE_LIMITED])
def test_an_error_that_ends_the_connection_is_not_the_end(
    harness: AgentHarness, code: Code
) -> None:
    harness.start()
    harness.refuse(None, code)
    harness.disconnect()
    harness.connect()
    harness.start()
    harness.think()
    assert harness.sent()
    assert not harness.codes


# A server that stops and comes back.


def test_matches_go_on_when_the_server_is_back(harness: AgentHarness) -> None:
    harness.resumed()
    harness.agent.received(Notice(code="storage_down", text="moves have to wait"))
    harness.agent.received(Closing(seconds=5.0, kept=True))
    harness.refuse("play", Code.CLOSING)
    assert "moves have to wait" in harness.shown
    assert "continue when it is back" in harness.shown
    harness.disconnect()
    harness.sent()
    harness.connect()
    harness.resumed()
    assert harness.sent(Seek)


# Matches whose player is gone.


@pytest.fixture
def heir(harness: AgentHarness) -> AgentHarness:
    """One that has matches to take over, and looks at the first."""
    harness.welcome(away=("m", "n"))
    harness.sent()
    harness.resumed()
    return harness


def test_a_match_whose_player_is_gone_is_taken_over(heir: AgentHarness) -> None:
    assert heir.sent(Watch, Seek) == [Watch(id="watch", match="m")]
    heir.moves = [TAKE_1, TAKE_1]
    heir.start(seat=None)
    assert heir.sent(TakeOver, Unwatch) == [
        Unwatch(id="unwatch", match="m"),
        TakeOver(id="take_over", match="m"),
    ]
    assert not heir.thinking
    heir.start()
    heir.think()
    assert heir.sent() == [Move(id=2, match="m", ply=2, action=TAKE_1)]
    heir.end(winner=1)
    assert heir.codes == [0]


def test_a_match_of_another_game_is_left_to_others(heir: AgentHarness) -> None:
    heir.sent()
    heir.start(seat=None, game="nim")
    assert "Match m of yours waits for a player of nim." in heir.shown
    assert heir.sent(TakeOver, Watch) == [Watch(id="watch", match="n")]


@pytest.mark.parametrize("code", [Code.MATCH_OVER, Code.UNKNOWN_MATCH, Code.NOT_AWAY])
def test_a_match_that_is_not_to_be_had_is_passed_over(heir: AgentHarness, code: Code) -> None:
    heir.start(seat=None)
    heir.sent()
    heir.refuse("take_over", code)
    assert heir.sent(Watch, Seek) == [Watch(id="watch", match="n")]
    heir.refuse("watch", code)
    assert [type(each) for each in heir.sent(Watch, Seek)] == [Seek]
    assert not heir.codes


def test_a_match_that_may_be_claimed_later_is_waited_for(heir: AgentHarness) -> None:
    heir.start(seat=None)
    heir.sent()
    heir.refuse("take_over", Code.NOT_AWAY, seconds=3.0)
    assert not heir.sent(Watch, Seek, TakeOver)
    heir.reactor.advance(3.0)
    assert heir.sent(TakeOver) == [TakeOver(id="take_over", match="m")]


def test_a_claim_is_forgotten_when_the_line_breaks(heir: AgentHarness) -> None:
    heir.start(seat=None)
    heir.refuse("take_over", Code.NOT_AWAY, seconds=3.0)
    heir.disconnect()
    heir.sent()
    heir.connect()
    heir.reactor.advance(3.0)
    assert not heir.sent(TakeOver)
    heir.resumed()
    assert heir.sent(Seek)


# Tournaments.


class TournamentHarness(AgentHarness):
    """An harness of matches that are given, none of which is asked for."""

    def __init__(self, player: Thinker | None = None) -> None:
        self.asked_for: list[str] = []
        super().__init__(player, request=ENTERING)
        self.sent()

    def prepared(self, *played: str) -> None:
        """The server answers the first `join`, and the player prepares."""
        self.agent.received(Ok(re="prepare", games=played))
        self.think()

    def player_of(self, game: str) -> Player:
        self.asked_for.append(game)
        if game != "nim(chips=9)":
            raise SpecError("too hard")
        return self.player


@pytest.fixture
def tournament() -> TournamentHarness:
    """One that has entered."""
    tournament = TournamentHarness()
    tournament.resumed()
    tournament.prepared()
    tournament.agent.received(Ok(re="play"))
    tournament.sent()
    return tournament


def test_a_player_is_made_before_a_tournament_gives_it_a_match() -> None:
    tournament = TournamentHarness()
    tournament.resumed()
    assert tournament.sent(Join) == [Join(id="prepare", matches=0)]
    tournament.prepared("nim(chips=9)", "go")
    assert tournament.asked_for == ["nim(chips=9)", "go"], "also if it cannot play a game"
    assert tournament.sent(Join) == [Join(id="play")]


def test_a_player_that_cannot_be_made_is_given_up_before_it_has_a_match() -> None:
    tournament = TournamentHarness()
    tournament.player_of = lambda game: 1 // 0  # type: ignore[method-assign,assignment,return-value]
    tournament.agent._player_of = tournament.player_of
    tournament.resumed()
    tournament.prepared("go")
    assert tournament.codes == [1]
    assert not tournament.sent(Join)[1:]


def test_a_player_prepares_once_although_the_line_breaks() -> None:
    tournament = TournamentHarness()
    tournament.resumed()
    tournament.agent.received(Ok(re="prepare", games=("nim(chips=9)",)))
    tournament.disconnect()
    tournament.sent()
    tournament.think()
    assert not tournament.sent(Join)
    tournament.connect()
    tournament.resumed()
    assert tournament.sent(Join) == [Join(id="play")]


def test_entry_is_requested_once_on_each_connection() -> None:
    tournament = TournamentHarness()
    tournament.resumed()
    tournament.prepared()
    assert tournament.sent(Join, Seek)[1:] == [Join(id="play")]
    tournament.agent.received(Ok(re="play"))
    assert "Ann: entered" in tournament.shown
    tournament.start()
    tournament.think()
    tournament.disconnect()
    tournament.sent()
    tournament.connect()
    tournament.start()
    tournament.resumed()
    assert tournament.sent(Join, Seek) == [_BUSY], "in the middle of its first match"
    tournament.end()
    tournament.think()
    assert tournament.sent(Join, Seek) == [_FREE]
    tournament.start(match="n")
    tournament.think()
    tournament.disconnect()
    tournament.connect()
    tournament.start(match="n")
    tournament.resumed()
    assert tournament.sent(Join, Seek) == [Join(id="play")], "in the middle of another match"
    tournament.end(match="n")
    assert not tournament.sent(Join, Seek)


class Preparing(Thinker):
    """A player that needs time before a match."""

    prepares = True

    def prepare(self) -> None:
        self.calls.append(("prepare", 0))
        if self.cancelled.is_set():
            raise Cancelled


#: Not ready for a match, and ready for one.
_BUSY, _FREE = Join(id="room", matches=0), Join(id="room", matches=1)


def test_a_tournament_assigns_no_match_to_a_player_that_prepares() -> None:
    harness = AgentHarness(Preparing(GAME), request=ENTERING)
    harness.resumed()
    harness.sent()
    for match in ("m", "n"):
        harness.start(seat=2, match=match)
        assert harness.sent(Join) == [_BUSY]
        harness.end(winner=1, match=match)
        assert not harness.sent(Join)
        harness.think()
        assert harness.sent(Join) == [_FREE]
    assert harness.player.calls == [("prepare", 0)] * 2


def test_a_player_that_compiles_in_its_first_move_gets_no_other_match_meanwhile(
    tournament: TournamentHarness,
) -> None:
    tournament.start(clock=ClockState(0.2, 0))
    assert tournament.sent(Join) == [_BUSY]
    tournament.end()
    tournament.reactor.advance(GRACE_S + 1)
    assert not tournament.codes, "it may go on, and need not begin again in another process"
    assert not tournament.sent(Join)
    tournament.think()
    assert tournament.sent(Join) == [_FREE]
    tournament.start(match="n")
    tournament.end(match="n")
    tournament.reactor.advance(GRACE_S + 1)
    assert tournament.codes == [1], "only in the first match of a game"


def test_a_match_that_came_before_the_player_was_full_frees_it(
    tournament: TournamentHarness,
) -> None:
    tournament.start()
    tournament.end()
    tournament.start(match="n")
    tournament.sent()
    tournament.think()
    assert not tournament.sent(Join), "it plays the match that came"
    tournament.think()
    tournament.end(match="n")
    assert tournament.sent(Join) == [_FREE]


def test_a_player_prepares_before_it_seeks_again_and_not_after_its_last_match() -> None:
    seek = Seek(game="nim(chips=9)")
    harness = AgentHarness(Preparing(GAME), request=PlayRequest(seek, 2))
    harness.resumed()
    assert len(harness.sent(Seek)) == 1
    harness.start(seat=2)
    harness.end(winner=1)
    assert not harness.sent(Seek)
    harness.think()
    assert len(harness.sent(Seek)) == 1
    harness.start(seat=2, match="n")
    harness.end(winner=1, match="n")
    assert harness.codes == [0]
    assert harness.player.calls == [("prepare", 0)]


def test_a_player_that_prepares_keeps_at_it_when_the_line_breaks() -> None:
    harness = AgentHarness(Preparing(GAME), request=ENTERING)
    harness.resumed()
    harness.start(seat=2)
    harness.end(winner=1)
    harness.sent()
    harness.disconnect()
    harness.reactor.advance(GRACE_S + 1)
    harness.connect()
    harness.resumed()
    assert harness.sent(Join) == [_BUSY]
    harness.think()
    assert harness.sent(Join) == [_FREE]
    assert not harness.codes


def test_a_player_that_cannot_prepare_is_given_up() -> None:
    harness = AgentHarness(Preparing(GAME), request=ENTERING)
    harness.resumed()
    harness.start(seat=2)
    harness.player.prepare = lambda: 1 // 0  # type: ignore[method-assign,assignment,return-value]
    harness.end(winner=1)
    harness.think()
    assert harness.codes == [1]


def test_a_certain_tournament_may_be_entered() -> None:
    harness = AgentHarness(request=PlayRequest(Join(tournament="t")))
    harness.resumed()
    assert harness.sent(Join) == [Join(id="prepare", tournament="t", matches=0)]
    harness.agent.received(Ok(re="prepare"))
    harness.think()
    assert harness.sent(Join) == [Join(id="play", tournament="t")]


def test_matches_come_one_after_the_other(tournament: TournamentHarness) -> None:
    for match in ("m", "n"):
        tournament.start(match=match)
        tournament.think()
        assert tournament.sent() == [Move(id=0, match=match, ply=0, action=TAKE_1)]
        tournament.end(match=match, winner=1)
    assert tournament.asked_for == ["nim(chips=9)"] * 2
    assert tournament.agent.counts.won == 2
    assert not tournament.codes


@pytest.fixture
def ladder() -> AgentHarness:
    """A bot that is on a ladder, for two matches."""
    ladder = AgentHarness(request=PlayRequest(EnterLadder(game="nim(chips=9)", version="1"), 2))
    ladder.resumed()
    assert ladder.sent(EnterLadder) == [EnterLadder(id="play", game="nim(chips=9)", version="1")]
    return ladder


def test_a_ladder_is_left_when_the_last_match_begins(ladder: AgentHarness) -> None:
    ladder.start(seat=2)
    ladder.end(winner=1)
    assert not ladder.sent(LeaveLadder)
    ladder.start(seat=2, match="n")
    assert ladder.sent(LeaveLadder) == [LeaveLadder(game="nim(chips=9)")]
    ladder.end(match="n", winner=0)
    assert len(ladder.sent(EnterLadder)) == 1, "that one had no result"
    ladder.start(seat=2, match="o")
    ladder.end(match="o", winner=2)
    assert ladder.codes == [0]


def test_a_ladder_is_entered_again_on_the_next_connection(ladder: AgentHarness) -> None:
    ladder.start(seat=2)
    ladder.sent()
    ladder.disconnect()
    ladder.connect()
    ladder.start(seat=2)
    ladder.resumed()
    assert len(ladder.sent(EnterLadder)) == 1
    ladder.end(winner=1)
    ladder.start(seat=2, match="n")
    ladder.disconnect()
    ladder.connect()
    ladder.start(seat=2, match="n")
    ladder.sent()
    ladder.resumed()
    assert not ladder.sent(EnterLadder), "no match follows this one"


def test_ctrl_c_leaves_a_ladder_after_the_match_and_again_resigns_it(ladder: AgentHarness) -> None:
    ladder.start(seat=2)
    ladder.agent.interrupt()
    assert ladder.sent(LeaveLadder, Resign) == [LeaveLadder(game="nim(chips=9)")]
    assert "Ctrl-C again" in ladder.shown
    ladder.agent.received(Pong(re="leave"))
    ladder.end(winner=2)
    assert ladder.codes == [130]


def test_a_match_that_began_when_the_ladder_was_left_is_played(ladder: AgentHarness) -> None:
    """The present match ends, and the next one begins, before the server hears of the end."""
    ladder.start(seat=2)
    ladder.sent()
    ladder.agent.interrupt()
    ladder.end(winner=2)
    assert not ladder.codes
    ladder.start(seat=2, match="n")
    ladder.agent.received(Pong(re="leave"))
    assert not ladder.codes
    assert not ladder.sent(EnterLadder)
    ladder.end(match="n", winner=0)
    assert ladder.codes == [130]


def test_a_second_ctrl_c_resigns_the_match_on_a_ladder(ladder: AgentHarness) -> None:
    ladder.start(seat=2)
    ladder.agent.interrupt()
    ladder.agent.interrupt()
    assert [type(each) for each in ladder.sent(LeaveLadder, Resign)] == [LeaveLadder, Resign]
    ladder.end(winner=1)
    assert ladder.codes == [130]


def test_ctrl_c_between_matches_leaves_a_ladder_unless_a_match_has_begun(
    ladder: AgentHarness,
) -> None:
    """The message about a match may be on its way when the player is interrupted."""
    ladder.agent.interrupt()
    assert ladder.sent(LeaveLadder, Ping)[-2:] == [
        LeaveLadder(game="nim(chips=9)"),
        Ping(id="leave"),
    ]
    assert not ladder.codes
    ladder.start(seat=2)
    ladder.agent.received(Pong(re="leave"))
    assert not ladder.codes
    ladder.end(winner=2)
    assert ladder.codes == [130]


def test_results_that_are_sent_again_keep_nobody_on_a_ladder(ladder: AgentHarness) -> None:
    """The player is interrupted without a connection, so that no answer comes, and still thinks."""
    ladder.start()
    ladder.disconnect()
    ladder.agent.interrupt()
    ladder.reactor.advance(2.0)
    ladder.connect()
    ladder.start()
    for _ in range(2):
        ladder.end(winner=1)
    ladder.resumed()
    assert not ladder.codes
    ladder.think()
    assert ladder.codes == [130]


@pytest.mark.parametrize("answers", [True, False])
def test_ctrl_c_between_matches_leaves_a_ladder(ladder: AgentHarness, answers: bool) -> None:
    """Also if the server does not answer."""
    ladder.agent.interrupt()
    if answers:
        ladder.agent.received(Pong(re="leave"))
    else:
        ladder.reactor.advance(2.0)
    assert ladder.codes == [130]


def test_a_bot_that_was_taken_off_a_ladder_exits(ladder: AgentHarness) -> None:
    ladder.agent.received(Notice(code="ladder_left", text="you made no move"))
    assert ladder.codes == [1]


def test_a_match_that_another_process_began_is_continued(tournament: TournamentHarness) -> None:
    """An opening counts as such moves, too."""
    tournament.moves = [TAKE_2, TAKE_3]
    tournament.start(clock=ClockState(60.0, 0))
    tournament.think()
    assert tournament.sent() == [Move(id=2, match="m", ply=2, action=TAKE_1)]
    (limit,) = tournament.player.limits
    assert limit.seconds
    assert tournament.player.positions[-1].moves == (TAKE_2, TAKE_3)


def test_matches_whose_player_is_gone_are_left_to_the_server() -> None:
    tournament = TournamentHarness()
    tournament.welcome(away=("m",))
    tournament.resumed()
    assert [type(each) for each in tournament.sent(Watch, TakeOver, Join)] == [Join]


def test_the_next_match_waits_until_the_player_is_done_with_the_last() -> None:
    tournament = TournamentHarness(Thinker(GAME, ponders=True))
    tournament.resumed()
    tournament.start(seat=2)
    tournament.end()
    tournament.start(seat=2, match="n")
    tournament.play(TAKE_1, match="n")
    tournament.think()
    assert tournament.player.calls == [("ponder", 0)], "broken off"
    tournament.think()
    tournament.think()
    assert tournament.player.calls[1:] == [("ponder", 0), ("choose", 1)]
    assert tournament.sent() == [Move(id=1, match="n", ply=1, action=TAKE_1)]


def test_a_match_that_is_over_before_it_could_begin_is_counted(
    tournament: TournamentHarness,
) -> None:
    tournament.start()
    tournament.end()
    tournament.start(match="n")
    tournament.end(match="n", winner=1)
    tournament.start(match="o")
    tournament.think()
    tournament.think()
    tournament.think()
    assert tournament.sent() == [Move(id=0, match="o", ply=0, action=TAKE_1)]
    assert (tournament.agent.counts.won, tournament.agent.counts.lost) == (1, 1)


def test_readiness_for_the_next_match_is_repeated_on_a_new_connection(
    tournament: TournamentHarness,
) -> None:
    tournament.start()
    tournament.end()
    tournament.start(match="n")
    tournament.disconnect()
    tournament.think()
    assert not tournament.thinking
    tournament.connect()
    tournament.start(match="n")
    tournament.resumed()
    tournament.think()
    assert tournament.sent() == [Move(id=0, match="n", ply=0, action=TAKE_1)]


def test_a_match_that_was_lost_with_the_session_may_come_back(
    tournament: TournamentHarness,
) -> None:
    tournament.start()
    tournament.disconnect()
    tournament.connect()
    tournament.resumed()
    tournament.start()
    tournament.think()
    assert not tournament.sent()
    tournament.think()
    assert tournament.sent() == [Move(id=0, match="m", ply=0, action=TAKE_1)]


def test_a_match_of_a_game_that_cannot_be_played_is_resigned(tournament: TournamentHarness) -> None:
    tournament.start(game="shogi")
    assert "There is no player for shogi: too hard" in tournament.shown
    assert tournament.sent() == [Resign(id="resign", match="m")]
    tournament.end()
    tournament.start(match="n")
    tournament.think()
    assert tournament.sent() == [Move(id=0, match="n", ply=0, action=TAKE_1)]


@pytest.mark.parametrize("playing", [False, True])
def test_leaving_a_tournament_resigns_nothing(tournament: TournamentHarness, playing: bool) -> None:
    if playing:
        tournament.start()
    tournament.agent.leave(143)
    assert tournament.codes == [143]
    assert tournament.connection.closed
    if playing:
        assert tournament.player.cancelled.is_set()
        tournament.think()
    assert not tournament.sent()


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (Code.UNKNOWN_TOURNAMENT, "Correct --tournament"),
        (Code.NOT_FOR_GUESTS, "Use an account"),
    ],
)
def test_a_refused_entry_is_explained(
    tournament: TournamentHarness, code: Code, advice: str
) -> None:
    tournament.refuse("play", code)
    assert tournament.codes == [1]
    assert advice in tournament.shown


# A player for each game.


def test_one_player_plays_from_all_first_positions_of_a_game() -> None:
    """An engine that started again for each opening would lose on time."""
    cache = PlayerCache(spec.parse("random(seed=1)"))
    first = cache("chess")
    for fen in ("4k3/8/8/8/8/8/4P3/4K2R b K - 3 17", "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"):
        player = cache(f"chess(fen={fen})")
        assert player is first
        assert str(player.game) == f"chess(fen={fen})"
    assert str(cache("chess").game) == "chess"
    assert cache("go(size=13)") is not cache("go")


def test_a_game_has_one_player_however_it_is_spelled() -> None:
    cache = PlayerCache(spec.parse("random(seed=1)"))
    nim = cache("nim")
    assert cache("nim(max_take=3)") is nim
    assert str(cache("nim(chips=9)").game) == "nim(chips=9)"


@pytest.mark.parametrize(
    ("player", "threads"), [("random", 1), ("uct", 1), ("uct(threads=2)", 2), ("flat(seed=1)", 1)]
)
def test_number_of_threads_of_a_player(player: str, threads: int) -> None:
    assert PlayerCache(spec.parse(player)).threads == threads


def test_a_wrong_option_is_known_before_any_game() -> None:
    with pytest.raises(SpecError, match="did you mean 'time'"):
        PlayerCache(spec.parse("uct(tme=1)"))


def test_all_players_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    monkeypatch.setattr(Thinker, "close", lambda player: closed.append(str(player.game)))
    cache = PlayerCache(spec.parse(f"{__name__}:Thinker"))
    for game in ("nim", "nim(chips=9)", "nim"):
        cache(game)
    cache.close()
    assert closed == ["nim", "nim(chips=9)"]


# Offers.


def offer_of(kind: OfferKind, seat: Seat = 2, ply: int = 2) -> Offered:
    return Offered(match="m", offer=kind, player=seat, ply=ply)


def taken_back(harness: AgentHarness, ply: int, seat: Seat = 2) -> None:
    """Both have agreed to take moves back."""
    del harness.moves[ply:]
    state = harness.state
    harness.agent.received(
        TakenBack(match="m", ply=ply, player=seat, state=state, to_move=state[0])
    )


@pytest.mark.parametrize(
    ("kind", "takebacks", "accept"),
    [("draw", True, False), ("takeback", False, False), ("takeback", True, True)],
)
def test_a_program_answers_offers_at_once(kind: OfferKind, takebacks: bool, accept: bool) -> None:
    request = PlayRequest(SEEKING.request, 1, takebacks)
    harness = AgentHarness(Thinker(GAME), request=request)
    harness.start()
    harness.agent.received(offer_of(kind))
    (answer,) = harness.sent(AnswerOffer)
    assert answer == AnswerOffer(id="offer", match="m", offer=kind, ply=2, accept=accept)
    assert ("agreed" if accept else "declined") in harness.shown
    harness.refuse("offer", Code.NO_OFFER)
    assert not harness.codes


def test_an_offer_that_was_open_when_the_line_broke_is_answered(harness: AgentHarness) -> None:
    harness.start()
    harness.disconnect()
    harness.connect()
    started = Started(
        match="m",
        game="nim(chips=9)",
        players=("Ann", "Bob"),
        seat=1,
        clock="none",
        moves=(),
        state=harness.state,
        to_move=1,
        offers=(OpenOffer("draw", 2, 0), OpenOffer("takeback", 1, 0)),
    )
    harness.agent.received(started)
    (answer,) = harness.sent(AnswerOffer)
    assert answer == AnswerOffer(id="offer", match="m", offer="draw", ply=0, accept=False)


def test_the_same_ply_is_thought_over_again_after_a_takeback(harness: AgentHarness) -> None:
    harness.moves = [TAKE_1]
    harness.start(seat=2)
    harness.think()
    harness.play(TAKE_1)
    taken_back(harness, 0, 1)
    assert not harness.thinking
    harness.play(TAKE_2)
    harness.think()
    assert [each.ply for each in harness.sent() if isinstance(each, Move)] == [1, 1]
    assert harness.player.positions[-1].moves == (TAKE_2,)


def test_a_choice_from_before_a_takeback_is_not_sent(harness: AgentHarness) -> None:
    harness.moves = [TAKE_1]
    harness.start(seat=2)

    def choose_too_late() -> PlayResult:
        taken_back(harness, 0, 1)
        harness.play(TAKE_2)
        return PlayResult(TAKE_3)

    harness.player.answer = choose_too_late
    harness.think()
    assert not harness.sent()
    harness.player.answer = lambda: PlayResult(TAKE_1)
    harness.think()
    assert harness.player.positions[-1].moves == (TAKE_2,)
    assert harness.sent() == [Move(id=1, match="m", ply=1, action=TAKE_1)]


def test_a_takeback_while_the_line_was_broken_is_found_in_the_moves(
    harness: AgentHarness,
) -> None:
    harness.moves = [TAKE_1, TAKE_2, TAKE_3]
    harness.start(seat=2)
    harness.disconnect()
    harness.moves = [TAKE_1, TAKE_1]
    harness.connect()
    harness.start(seat=2)
    harness.reactor.work.clear()
    match = harness.agent._match
    assert match is not None
    assert match.position.moves == (TAKE_1, TAKE_1)
    assert match.position.state == harness.state


@pytest.mark.parametrize("ponders", [True, False])
@pytest.mark.parametrize(
    ("asked", "request_"),
    [
        ("draw", Offer(id="offer", match="m", offer="draw", ply=0)),
        ("takeback", Offer(id="offer", match="m", offer="takeback", ply=0)),
        ("accept", AnswerOffer(id="offer", match="m", offer="draw", ply=0, accept=True)),
        ("decline", AnswerOffer(id="offer", match="m", offer="draw", ply=0, accept=False)),
        ("withdraw", WithdrawOffer(id="offer", match="m")),
        ("abort", Abort(id="offer", match="m")),
    ],
)
def test_the_server_is_told_the_requests_of_a_person(
    ponders: bool, asked: MatchRequest, request_: Request
) -> None:
    def asks(*_: object) -> PlayResult:
        raise MatchRequested(asked)

    person = Thinker(GAME, ponders)
    person.human = True
    person.choose = person.ponder = asks  # type: ignore[method-assign,assignment]
    harness = AgentHarness(person)
    harness.start(seat=2 if ponders else 1)
    harness.agent.received(offer_of("draw", 1 if ponders else 2, 0))
    assert not harness.sent(AnswerOffer)
    harness.think()
    assert harness.sent(type(request_)) == [request_]
    assert harness.thinking  # again


def test_a_person_is_told_of_offers_and_their_end() -> None:
    told: list[str] = []
    person = Thinker(GAME)
    person.human = True
    person.notice = told.append  # type: ignore[method-assign]
    harness = AgentHarness(person)
    harness.start()
    for seat in (1, 2):
        harness.agent.received(offer_of("takeback", seat))  # type: ignore[arg-type]
        for how in ("declined", "withdrawn"):
            closed = OfferClosed(match="m", offer="takeback", player=seat, ply=2, how=how)  # type: ignore[arg-type]
            harness.agent.received(closed)
    assert told == [
        "You ask to take a move back. A move of Bob declines it.",
        "Bob has declined the takeback.",
        "You have withdrawn the takeback.",
        "Bob asks to take a move back. Type accept or decline; a move declines it, too.",
        "You have declined the takeback.",
        "Bob has withdrawn the takeback.",
    ]


def test_a_ladder_that_cannot_be_entered_yet_is_entered_later(ladder: AgentHarness) -> None:
    ladder.refuse("play", Code.RATE_LIMITED, seconds=60.0)
    ladder.reactor.advance(59.0)
    assert not ladder.sent(EnterLadder)
    ladder.reactor.advance(2.0)
    assert len(ladder.sent(EnterLadder)) == 1
