"""The interface of a player: given the match so far and a limit, it chooses an action."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Literal, get_args

from playout.games import Game, Option, Position
from playout.games.core.spec import HasOptions
from playout.protocol.messages import Analysis

#: Depth of an exported tree, in plies below the root. Python and most JSON readers fail on much
#: deeper nesting.
MAX_DEPTH = 100


@dataclass(frozen=True)
class Node:
    """A position that a search has visited; an exported search tree is its root.

    `win_rate`, `amaf` (from 0 to 1, a tie counts one half) and `proven` (1, 0, -1 for a win, a tie,
    a loss with best play) are from the view of the player who made the last move. `amaf` is the
    mean of the `amaf_visits` playouts in which that player chose the action at any later time; None
    if the search does not record it.

    For a search guided by a net, `prior` is the policy's probability of the action, and
    `exploration` the term that PUCT adds to its value, which is from -1 to 1, to select it.
    """

    action: int | None  # None at the root
    visits: int
    win_rate: float
    amaf: float | None = None
    amaf_visits: int = 0
    proven: int | None = None
    children: tuple[Node, ...] = ()  # the most visited first
    prior: float | None = None
    exploration: float | None = None


#: Requests of a player besides moving and resigning: offer a draw or a takeback, accept or decline
#: the opponent's offer, withdraw the own one, or, before the first own move, abort the match.
MatchRequest = Literal["draw", "takeback", "accept", "decline", "withdraw", "abort"]
MATCH_REQUESTS: tuple[MatchRequest, ...] = get_args(MatchRequest)


class Cancelled(Exception):
    """Raised by `choose` and `ponder` after `cancel`, if the player has no result yet."""


class Resigned(Exception):
    """Raised by `choose` to resign the match instead of choosing an action."""


class MatchRequested(Exception):
    """Raised by `choose` and `ponder`, which are called again after the request was sent."""

    def __init__(self, request: MatchRequest) -> None:
        super().__init__(request)
        self.request = request


class PlayerError(Exception):
    """Raised by a player that cannot continue; its match is resigned.

    The message says in one sentence what was wrong, and where.
    """


@dataclass(frozen=True)
class TimeLeft:
    """A player's clock: `main_s` seconds of main time, and periods.

    `periods` counts the periods left, with the current one, of which `period_s` seconds are left.
    """

    main_s: float
    periods: int = 0
    period_s: float = 0.0


@dataclass(frozen=True)
class MatchClock:
    """The time control of a match, and both clocks at the moment when a player has to move.

    A player starts with `start`. `increment_s` seconds are added after each move; a period that a
    move does not use up is restored. `left` has the clocks of seats 1 and 2. `overhead_s` is the
    part of a move's time that passes outside the player, in the network and the client. The first
    `delay_s` seconds of each turn do not count.
    """

    start: TimeLeft
    increment_s: float
    left: tuple[TimeLeft, TimeLeft]
    overhead_s: float = 0.0
    delay_s: float = 0.0

    @property
    def gain_s(self) -> float:
        """The increment, or the delay: as an increment for programs that know no delay."""
        return self.increment_s + self.delay_s


@dataclass(frozen=True)
class Limit:
    """Limits on the search for one move: seconds and simulations; None means no limit.

    `time_carries_over` says whether unused time is added to later moves: true for main time and
    increments, false for periods. If true, a search may stop early. `clock` is for players that
    divide their time themselves; it is None in a match without clocks and outside matches.
    """

    seconds: float | None = None
    simulations: int | None = None
    time_carries_over: bool = False
    clock: MatchClock | None = None


@dataclass(frozen=True)
class ActionStats:
    """Statistics of a search about one action; `wins` counts a tie as one half.

    `amaf`, `proven` and `prior` are as in `Node`, for the player who would play the action.
    """

    action: int
    visits: int
    wins: float
    amaf: float | None = None
    proven: int | None = None
    prior: float | None = None

    @property
    def win_rate(self) -> float:
        """Wins per visit, from 0 to 1; 0.5 for an action without visits."""
        return self.wins / self.visits if self.visits else 0.5


#: Number of best actions whose lines a report has.
LINES = 3
#: Maximum numbers of moves of the principal variation, and of actions, that are sent to the server.
_SENT_PLIES, _SENT_ACTIONS = 20, 50


@dataclass(frozen=True)
class Info:
    """The analysis of one move: the effort of the search and its evaluation of the position.

    `win_rate` and `proven` (1, 0, -1 for a win, a tie, a loss with best play) are for the player to
    move. `depth` is in plies. `pv` (principal variation) is the expected moves, the player's own
    first. `actions` has the most visited first. `lines` are the expected moves after those of the
    best actions that `pv` does not begin with, for somebody who receives reports. All fields are
    optional.
    """

    simulations: int = 0
    seconds: float = 0.0
    depth: int = 0
    win_rate: float = 0.5
    pv: tuple[int, ...] = ()
    actions: tuple[ActionStats, ...] = ()
    proven: int | None = None
    lines: tuple[tuple[int, ...], ...] = ()

    def with_lines(self, line_of: Callable[[int], Iterable[int]]) -> Info:
        """Return the analysis with the lines after its next best actions."""
        others = [each.action for each in self.actions if each.action not in self.pv[:1]]
        return replace(self, lines=tuple(tuple(line_of(each)) for each in others[: LINES - 1]))

    def to_message(self) -> Analysis:
        """Return the part that is sent to the server with the move."""
        sent = self.actions[:_SENT_ACTIONS]
        return Analysis(
            win_rate=float(self.win_rate),
            simulations=int(self.simulations),
            seconds=float(self.seconds),
            depth=int(self.depth),
            proven=None if self.proven is None else int(self.proven),  # type: ignore[arg-type]
            pv=tuple(int(action) for action in self.pv[:_SENT_PLIES]),
            actions=tuple(
                (int(each.action), int(each.visits), float(each.win_rate)) for each in sent
            ),
            policy=tuple(
                (int(each.action), round(float(each.prior), 4))
                for each in sent
                if each.prior is not None
            ),
        )


@dataclass(frozen=True)
class PlayResult:
    """The chosen action, and the analysis behind it if the player gives one."""

    action: int
    info: Info | None = None


#: Receives the analysis of a search that still runs, in the thread of the search.
Report = Callable[[Info], None]
#: Shortest time between two reports of a search, unless a depth or a proof is new.
REPORT_S = 0.1


class Reporter:
    """Decides when a search reports: every REPORT_S seconds, if anybody receives the reports."""

    def __init__(self, report: Report | None) -> None:
        self._report = report
        self._due_at = time.perf_counter() + REPORT_S

    @property
    def is_due(self) -> bool:
        """Whether enough time has passed since the last report."""
        return self._report is not None and time.perf_counter() >= self._due_at

    def __call__(self, make: Callable[[], Info]) -> None:
        """Report the analysis that `make` returns; it is not called if nobody receives it."""
        if self._report is not None:
            self._report(make())
            self._due_at = time.perf_counter() + REPORT_S


def paced(show: Report, seconds: float, clock: Callable[[], float] = time.perf_counter) -> Report:
    """Return a report that shows an analysis at most every `seconds`, the first one after them."""
    shown_at = clock()

    def report(info: Info) -> None:
        nonlocal shown_at
        if clock() - shown_at >= seconds:
            show(info)
            shown_at = clock()

    return report


class Player(HasOptions, ABC):
    """Plays one side of one game. The keyword parameters of `__init__` are its options.

    `choose`, `ponder` and `prepare` may be called in another thread than the other methods, but
    never two of them at the same time.
    """

    #: Whether a person chooses the moves; the client tells the server.
    human = False
    #: Whether it thinks on the opponent's time, in `ponder`.
    ponders: bool = False
    #: Whether it needs time before a match, in `prepare`.
    prepares: bool = False
    #: Seconds that its program may still take to start in its first move, which nothing tells.
    start_s: float = 0.0
    #: The name and version of the program that plays, if it is not Playout.
    version: str = ""
    #: The id of the current match on a server.
    match: str = ""
    #: Whether it plays games with chance; `__init__` raises SpecError for them if not.
    plays_chance: bool = True

    def __init__(self, game: Game) -> None:
        self.require_playable(game)
        self.game = game
        self.cancelled = threading.Event()

    @classmethod
    def require_playable(cls, game: Game) -> None:
        """Raise SpecError if the game has chance, and the player does not play such games."""
        if not cls.plays_chance:
            game.require_no_chance(f"{cls.__name__.lower()} does not play")

    @abstractmethod
    def choose(self, position: Position, limit: Limit, report: Report | None = None) -> PlayResult:
        """Choose one of `position.legal_actions`.

        A player that searches may call `report` with its analysis so far: at most ten times a
        second, and when a depth or a proof is new. Soon after `cancel` it returns the best action
        so far, or raises Cancelled. Raises Resigned to resign the match, and MatchRequested.
        """

    def longest_s(self, limit: Limit) -> float | None:
        """Return the longest time that `choose` takes, in seconds; None if unknown.

        If it is short, the client may call `choose` in the thread of its event loop.
        """
        return None

    def ponder(self, position: Position) -> None:
        """Think on the opponent's time: in `position` the opponent is to move.

        Called only if `ponders` is true. Returns, or raises Cancelled, soon after `cancel`. Raises
        MatchRequested.
        """

    def prepare(self) -> None:
        """Get ready for another match, while no clock runs.

        Called after each match that may have a next one, if `prepares` is true. Returns, or raises
        Cancelled, soon after `cancel`.
        """

    def tree(self, min_visits: int = 1) -> Node | None:
        """Return the search tree of the last choice: the nodes with at least `min_visits` visits.

        Its depth is at most `playout.players.core.player.MAX_DEPTH`. Returns None for players
        without a tree. It is never called while the player thinks.
        """
        return None

    def cancel(self) -> None:
        """Cancel the search that is running, and any until `ready`; safe from any thread."""
        self.cancelled.set()

    def ready(self) -> None:
        """Allow searches again after `cancel`."""
        self.cancelled.clear()

    def check(self) -> Iterator[str]:
        """Test whether the player can play, and yield lines about it for `playout-player --check`.

        Raises PlayerError.
        """
        yield from ()

    def close(self) -> None:
        """Release threads and memory. The player is not used afterwards."""

    # Notifications about a match. The defaults do nothing.

    def started(self, seat: int, opponent: str, position: Position) -> None:
        """Handle the start of a match, or its resumption; this player has seat 1 or 2."""

    def moved(self, seat: int, position: Position) -> None:
        """Handle a move: `seat` played `position.last_move`. Nature has seat 0."""

    def taken_back(self, seat: int, position: Position) -> None:
        """Handle a takeback by `seat`, to which both agreed; `position` is the current one."""

    def notice(self, text: str) -> None:
        """Handle a line of text about offers in the match, for a person."""

    def ended(self, winner: int, reason: str) -> None:
        """Handle the end of a match: `winner` is 1, 2, -1 for a tie, 0 for no result."""

    def interrupt(self) -> bool:
        """Handle Ctrl-C. Returns whether the player handled it; if not, the program ends."""
        return False


#: Seconds for a move without any limit.
DEFAULT_S = 1.0


def tighter(given: Limit, own: Limit) -> Limit:
    """Return the smaller of both limits, of the match and of the player's options.

    Without any limit, it is DEFAULT_S seconds.
    """
    seconds = min((s for s in (given.seconds, own.seconds) if s is not None), default=None)
    simulations = min(
        (n for n in (given.simulations, own.simulations) if n is not None), default=None
    )
    if seconds is None and simulations is None:
        seconds = DEFAULT_S
    return replace(given, seconds=seconds, simulations=simulations)


# Options that several players have.

MAX_THREADS = 256

Time = Annotated[
    float | None,
    Option(
        "time for each move, in seconds", gt=0, default="as the clock allows; 1 s without a clock"
    ),
]
Simulations = Annotated[
    int | None, Option("maximum number of simulations for each move", ge=1, default="no limit")
]
Seed = Annotated[
    int | None,
    Option(
        "seed of the random choices: equal seeds give equal moves, unless time limits the search",
        default="a new one each time",
    ),
]
Ponder = Annotated[bool, Option("whether it thinks on the opponent's time")]
Threads = Annotated[int, Option("number of parallel searches", ge=1, le=MAX_THREADS)]
Exploration = Annotated[float, Option("weight of exploration", ge=0)]
Candidates = Annotated[int, Option("number of moves that an analysis compares", ge=1)]
