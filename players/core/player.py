"""What a player is: it is given the match so far and a limit, and chooses an action."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from games import Game, State


class Cancelled(Exception):
    """The choice is no longer wanted: the match ended while the player was thinking."""


class Resigned(Exception):
    """Raised by `choose` instead of an action."""


@dataclass(frozen=True)
class Limit:
    """How long a player may think about one move; None is no limit of that kind."""

    seconds: float | None = None
    simulations: int | None = None


@dataclass(frozen=True)
class Considered:
    """What a search found out about one action; `wins` counts a tie as one half."""

    action: int
    visits: int
    wins: float

    @property
    def win_rate(self) -> float:
        """Wins per visit, 0.5 for an action that was never tried."""
        return self.wins / self.visits if self.visits else 0.5


@dataclass(frozen=True)
class Info:
    """What a search did for one move, and what it thinks.

    `win_rate` is for the player to move, `depth` and `line` (the moves it expects, its own first)
    are in plies, `actions` has the most visited first. All is optional.
    """

    simulations: int = 0
    seconds: float = 0.0
    depth: int = 0
    win_rate: float = 0.5
    line: tuple[int, ...] = ()
    actions: tuple[Considered, ...] = ()
    proven: int | None = None


@dataclass(frozen=True)
class Choice:
    """A legal action, and why, if the player says so."""

    action: int
    info: Info | None = None


class Player(ABC):
    """Plays one side of one game. The keyword parameters of `__init__` are its options.

    `choose` may be called in another thread than the rest.
    """

    #: What the server is told: is this a person?
    human = False

    def __init__(self, game: Game) -> None:
        self.game = game
        self.cancelled = threading.Event()

    @abstractmethod
    def choose(self, states: Sequence[State], limit: Limit) -> Choice:
        """An action for `states[-1]`; `states` is the match so far, newest last.

        Raises Cancelled soon after `cancel`, and Resigned to give up.
        """

    def cancel(self) -> None:
        """Give up the choice that is under way, and any before `ready`; safe from any thread."""
        self.cancelled.set()

    def ready(self) -> None:
        """A choice is wanted again, after one that was cancelled."""
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
