"""What a player is: it is given the match so far and a limit, and chooses an action."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from games import Game, State
from players.core.node import Node


class Cancelled(Exception):
    """The thinking is no longer wanted: the match went on or ended meanwhile."""


class Resigned(Exception):
    """Raised by `choose` instead of an action."""


@dataclass(frozen=True)
class Limit:
    """How long a player may think about one move; None is no limit of that kind.

    `saves` says whether time that is not used is kept for later moves: true for main time and
    increments, false for periods. Where it is true, a search may well stop early.
    """

    seconds: float | None = None
    simulations: int | None = None
    time_carries_over: bool = False


@dataclass(frozen=True)
class ActionStats:
    """What a search found out about one action; `wins` counts a tie as one half.

    `amaf` and `proven` are as in `Node`, for the player who would play the action.
    """

    action: int
    visits: int
    wins: float
    amaf: float | None = None
    proven: int | None = None

    @property
    def win_rate(self) -> float:
        """Wins per visit, 0.5 for an action that was never tried."""
        return self.wins / self.visits if self.visits else 0.5


@dataclass(frozen=True)
class Info:
    """What a search did for one move, and what it thinks.

    `win_rate` and `proven` (1, 0, -1 for a win, a tie, a loss with best play) are for the player to
    move, `depth` and `line` (the moves it expects, its own first) are in plies, `actions` has the
    most visited first. All is optional.
    """

    simulations: int = 0
    seconds: float = 0.0
    depth: int = 0
    win_rate: float = 0.5
    pv: tuple[int, ...] = ()
    actions: tuple[ActionStats, ...] = ()
    proven: int | None = None


@dataclass(frozen=True)
class PlayResult:
    """A legal action, and why, if the player says so."""

    action: int
    info: Info | None = None


class Player(ABC):
    """Plays one side of one game. The keyword parameters of `__init__` are its options.

    `choose` and `ponder` may be called in another thread than the rest, never both at a time.
    """

    #: What the server is told: is this a person?
    human = False
    #: Does it think on the opponent's time?
    ponders: bool = False

    def __init__(self, game: Game) -> None:
        self.game = game
        self.cancelled = threading.Event()

    @abstractmethod
    def choose(self, states: Sequence[State], limit: Limit) -> PlayResult:
        """An action for `states[-1]`; `states` is the match so far, newest last.

        Raises Cancelled soon after `cancel`, and Resigned to give up.
        """

    def longest_s(self, limit: Limit) -> float | None:
        """How many seconds `choose` takes at most; None if that is not known.

        Who keeps to little may be called in the thread in which all else is done.
        """
        return None

    def ponder(self, states: Sequence[State]) -> None:
        """Think on the opponent's time: `states[-1]` is the opponent's to move.

        Called only if `ponders`. Returns, or raises Cancelled, soon after `cancel`.
        """

    def tree(self, min_visits: int = 1) -> Node | None:
        """The search tree of the last choice, nodes visited at least so often, not too deep.

        `players.core.node` says how deep. None for players without one. Not called while the player
        thinks.
        """
        return None

    def cancel(self) -> None:
        """Give up the thinking that is under way, and any before `ready`; safe from any thread."""
        self.cancelled.set()

    def ready(self) -> None:
        """Thinking is wanted again, after some that was cancelled."""
        self.cancelled.clear()

    def close(self) -> None:
        """Release what the player holds. It is not used afterwards."""

    # What happens in a match is told to those who want to know.

    def started(self, seat: int, opponent: str, states: Sequence[State]) -> None:
        """A match begins or is taken up again; this player has seat 1 or 2."""

    def moved(self, seat: int, action: int, states: Sequence[State]) -> None:
        """Somebody, perhaps this player, has played `action`, which led to `states[-1]`."""

    def ended(self, winner: int, reason: str) -> None:
        """The match is over: 1, 2, -1 for a tie, 0 for no result."""

    def interrupt(self) -> bool:
        """Ctrl-C was pressed. True if the player deals with it; otherwise the program ends."""
        return False
