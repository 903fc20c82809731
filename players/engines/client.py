"""The base class of the clients of engines, and helpers that several protocols need."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from playout.commands.text import beginning, plain
from playout.games import Game, Position, State
from playout.games.core import spec
from playout.players.core.player import Info, Limit, MatchClock, PlayResult, Reporter, TimeLeft
from playout.players.engines.config import EngineConfig
from playout.players.engines.process import PING_S, EngineError, EngineProcess

# The time for a move that an engine is told: what is left of it, less a margin. The margin is for
# what passes between the engine and this process, and for engines that notice the end of their time
# late. It is at least `margin_s` of the engine's table, at least 5 % of the move's time, and at
# least twice the longest time by which the engine has exceeded its time in this match; but never
# more than half of what is left. On a busy machine with two cores, Fairy-Stockfish exceeded 280 ms
# by less than 1 ms in half of its moves, by 28 ms in one of 100, and by at most 81 ms.

#: The least margin as a share of the time.
_MARGIN_SHARE = 0.05
#: The largest share of the time that the margin takes.
_MOST_SHARE = 0.5
#: The margin as a multiple of the longest time that was exceeded, and the share of that time that
#: the next match begins with.
_CAUTION, _REMEMBERED = 2.0, 0.5


class MoveTime:
    """Subtracts margins from the limits of moves, and measures how an engine keeps them."""

    def __init__(self, margin_s: float, now: Callable[[], float] = time.monotonic) -> None:
        self._margin_s = margin_s
        self._now = now
        #: When the clock of the move began, and when the engine was told to search.
        self._began = self._told = now()
        #: The longest time by which the engine has exceeded its time in this match.
        self._exceeded_s = 0.0

    def new_match(self) -> None:
        """Forget half of what the answers of the last match have shown."""
        self._exceeded_s *= _REMEMBERED

    def begin(self, at: float) -> None:
        """Note that the clock of a move runs since `at`, as of `time.monotonic`."""
        self._began = at

    def left(self, limit: Limit) -> Limit:
        """Return the limit that the engine is told now, when its search begins."""
        self._told = self._now()
        used_s = self._told - self._began
        if limit.seconds is None:
            return limit
        left_s = max(0.0, limit.seconds - used_s)
        margin_s = max(self._margin_s, _MARGIN_SHARE * left_s, _CAUTION * self._exceeded_s)
        margin_s = min(margin_s, _MOST_SHARE * left_s)
        clock = limit.clock
        if clock:
            clock = replace(clock, overhead_s=clock.overhead_s + used_s + margin_s)
        return replace(limit, seconds=left_s - margin_s, clock=clock)

    def answered(self, given_s: float | None) -> None:
        """Note that the engine, which was given some seconds for the move, has answered."""
        if given_s is not None:
            exceeded_s = self._now() - self._told - given_s
            self._exceeded_s = max(self._exceeded_s, exceeded_s)


#: Seconds after the end of a player's time until an engine counts as hanging.
MARGIN_S = 10.0
#: Longest time for a move without any limit.
UNLIMITED_S = 600.0
#: Seconds without output after an illegal move that is also the last one.
REPEATED_S = 1.0
#: Larger counts and depths of an analysis are not believed.
MOST_COUNTED = 2**31 - 1


class EngineClient(ABC):
    """Speaks with an engine through one protocol, about one game.

    All methods are called in one thread at a time. They raise EngineError if the engine can no
    longer be used, and Cancelled if the move is no longer needed.
    """

    #: The command that makes an engine exit.
    farewell = "quit"
    #: Whether the engine answers with the numbers of actions.
    answers_numbers = False
    #: Whether the protocol tells the engine the rolls of games with chance.
    tells_rolls = False
    #: Whether it learns of the engine's start only with the first answer.
    starts_silently = False

    def __init__(self, config: EngineConfig, game: Game, cancelled: threading.Event) -> None:
        """Start the engine, and wait until it is ready for a match.

        Raises SpecError for a game with chance, if the protocol does not tell rolls.
        """
        if not self.tells_rolls:
            game.require_no_chance(f"the protocol of the engine {config.name} has no dice for")
        self.config = config
        self.game = game
        self.cancelled = cancelled
        self.time = MoveTime(config.margin_s)
        #: The last move that the engine has answered, as text.
        self._last_answer = ""
        #: Receives the analyses of the engine while it searches.
        self.reporter = Reporter(None)
        #: The name and version that the engine reports.
        self.title = config.name
        deadline = self.start_deadline()
        self.process = self._launched(deadline)
        try:
            self._start(deadline)
            self.title = " ".join(plain(self.title).split()) or config.name
            self.new_match()
        except BaseException:
            self.close()
            raise

    def _launched(self, deadline: float) -> EngineProcess:
        """Run the engine's command."""
        return EngineProcess(self.config, self.cancelled)

    @abstractmethod
    def _start(self, deadline: float) -> None:
        """Ask the engine for its name and its abilities, and set its options."""

    def new_match(self) -> None:
        """Let the engine forget its position, and wait until it is ready for another match."""
        self.time.new_match()
        self._new_match(self.start_deadline())

    @abstractmethod
    def _new_match(self, deadline: float) -> None:
        """Send the commands before a match that do not depend on its clock."""

    @abstractmethod
    def choose(self, position: Position, limit: Limit) -> PlayResult:
        """Let the engine choose a legal action. Also raises Resigned."""

    def report(self, info: Info) -> None:
        """Report an analysis of the search that is running."""
        self.reporter(lambda: info)

    @property
    def ponders(self) -> bool:
        """Whether the engine is to think on the opponent's time."""
        return False

    def ponder(self) -> None:
        """Let the engine think on the opponent's time, until Cancelled is raised."""

    @abstractmethod
    def settle(self, deadline: float) -> None:
        """Read the rest of a cancelled answer."""

    def end_search(self, deadline: float) -> None:
        """Stop a cancelled search after the end of its match, so that it takes no core."""
        self.settle(deadline)

    def ended(self, position: Position, winner: int) -> None:
        """Tell the engine the end of its match: `winner` is 1, 2, -1 (a tie), 0 (no result)."""

    def describe(self) -> Iterable[str]:
        """Return lines about the engine's abilities, for people."""
        return ()

    def close(self) -> None:
        """End the engine, and all processes that it has started."""
        self.process.close(self.farewell)

    def start_deadline(self) -> float:
        """Return the time by which the engine must be ready for a match."""
        return time.monotonic() + self.config.start_s

    def ping_deadline(self) -> float:
        """Return the time by which a command other than a move must be answered."""
        return time.monotonic() + PING_S

    def require_legal(self, action: int | None, position: Position, answer: str) -> int:
        """Return the action if it is legal. Raises EngineError for an illegal one and for None."""
        if action is None or action not in position.legal_actions:
            raise self.illegal(position, answer)
        self._last_answer = answer
        return action

    def is_repeated(self, action: int | None, position: Position, answer: str) -> bool:
        """Return whether an illegal answer repeats the answer to the previous search, and log it.

        The answer to this search may still come. Without further output for a second, this is the
        answer.
        """
        is_legal = action is not None and action in position.legal_actions
        if is_legal or answer != self._last_answer:
            return False
        if not self.process.can_be_read(time.monotonic() + REPEATED_S):
            return False
        self.process.unused(answer)
        self._last_answer = ""  # at most once for each move
        return True

    def move_name(self, position: Position, action: int) -> str:
        """Return a legal action as the protocol writes it, for errors."""
        return position.name(action)

    def unknown(self, kind: str, name: str, known: Iterable[str]) -> EngineError:
        """Return the error of a name that the engine does not announce, such as an option."""
        return EngineError(f"the engine {self.config.name}: {spec.unknown(kind, name, known)}")

    def illegal(self, position: Position, answer: str) -> EngineError:
        """Return the error of an engine whose answer is not legal, with the legal moves."""
        if self.answers_numbers:
            legal = self.game.legal_text(position.state, numbers=True)
        else:
            legal = self.game.legal_text(
                position.state, numbers=False, name_of=partial(self.move_name, position)
            )
        return self.process.fault(f"has answered {shown(answer)}: not legal; {legal}")


def clock_of(limit: Limit) -> MatchClock | None:
    """Return the clock of a match; for a limit in seconds, one with a period of that length."""
    if limit.clock or limit.seconds is None:
        return limit.clock
    move = TimeLeft(0.0, 1, limit.seconds)
    return MatchClock(move, 0.0, (move, move))


def move_deadline(limit: Limit, seat: int) -> float:
    """Return the time after which an engine without a move counts as hanging."""
    clock = clock_of(limit)
    if clock is None:
        return time.monotonic() + UNLIMITED_S
    left = clock.left[seat - 1]
    later_s = max(0, left.periods - 1) * clock.start.period_s
    return time.monotonic() + clock.delay_s + left.main_s + left.period_s + later_s + MARGIN_S


def is_short(limit: Limit, config: EngineConfig) -> bool:
    """Return whether a move has less time than the engine can be limited to."""
    return limit.seconds is not None and limit.seconds < config.short_s


def counted(number: float) -> int:
    """Return a count of an analysis as a whole number within the bounds of messages."""
    return int(max(0, min(MOST_COUNTED, number)))


def win_rate(centipawns: float) -> float:
    """Return a win rate from 0 to 1 for an evaluation in hundredths of a pawn.

    The expectation of the Elo model, 1 / (1 + 10^(-centipawns / 400)).
    """
    bounded = max(-10_000.0, min(10_000.0, centipawns))
    return float(1 / (1 + 10.0 ** (-bounded / 400)))


def legal_line(
    position: Position, names: Iterable[str], action_of: Callable[[State, str], int | None]
) -> tuple[int, ...]:
    """Return the actions of a line of moves, up to the first that is not legal.

    `action_of` returns the legal action of a name in a state, None if there is none.
    """
    after = position
    for name in names:
        action = action_of(after.state, name)
        if action is None:
            break
        after = after.play(action)
    return after.moves[position.ply :]


def shown(answer: str) -> str:
    """Return the beginning of an answer in quotes, with its printable characters."""
    return f"'{beginning(answer, 80)}'"
