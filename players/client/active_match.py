"""What a connected player knows of its match, and what it is to do next."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from games import Game, State
from players.core.player import Info, Player
from server.model.messages import ClockState, Started


class Doing(enum.Enum):
    """What the player is at, in its thread."""

    NOTHING = enum.auto()
    CHOOSING = enum.auto()
    PONDERING = enum.auto()
    STOPPING = enum.auto()


class MoveQuery(enum.Enum):
    """What the match asks of the player."""

    NOTHING = enum.auto()
    CHOICE = enum.auto()
    PONDERING = enum.auto()
    LEAVE = enum.auto()


class Step(enum.Enum):
    """What is to be done about it."""

    WAIT = enum.auto()
    CHOOSE = enum.auto()
    PONDER = enum.auto()
    CANCEL = enum.auto()
    STAND_UP = enum.auto()


#: A choice goes on while the line is broken, for the match may come back as it was.
STEPS: Mapping[tuple[Doing, MoveQuery], Step] = {
    (Doing.NOTHING, MoveQuery.NOTHING): Step.WAIT,
    (Doing.NOTHING, MoveQuery.CHOICE): Step.CHOOSE,
    (Doing.NOTHING, MoveQuery.PONDERING): Step.PONDER,
    (Doing.NOTHING, MoveQuery.LEAVE): Step.STAND_UP,
    (Doing.CHOOSING, MoveQuery.NOTHING): Step.WAIT,
    (Doing.CHOOSING, MoveQuery.CHOICE): Step.WAIT,
    (Doing.CHOOSING, MoveQuery.PONDERING): Step.CANCEL,
    (Doing.CHOOSING, MoveQuery.LEAVE): Step.CANCEL,
    (Doing.PONDERING, MoveQuery.NOTHING): Step.CANCEL,
    (Doing.PONDERING, MoveQuery.CHOICE): Step.CANCEL,
    (Doing.PONDERING, MoveQuery.PONDERING): Step.WAIT,
    (Doing.PONDERING, MoveQuery.LEAVE): Step.CANCEL,
    **{(Doing.STOPPING, asked): Step.WAIT for asked in MoveQuery},
}


@dataclass
class ActiveMatch:
    """A match as one of its players sees it."""

    started: Started
    player: Player
    states: list[State]
    clocks: tuple[ClockState, ClockState] | None
    doing: Doing = Doing.NOTHING
    #: The ply at which it began with what it is doing.
    since: int = 0
    #: The ply for which it has done all it can: sent a move, or pondered to the end.
    done: int | None = None
    #: About the move that was sent last, until it is played.
    thought: Info | None = None
    in_sight: bool = True
    given_up: bool = False
    over: bool = False

    @property
    def game(self) -> Game:
        """The rules."""
        return self.player.game

    @property
    def ply(self) -> int:
        """The number of the next move."""
        return len(self.states) - 1

    @property
    def number(self) -> int:
        """1 or 2."""
        assert self.started.seat is not None
        return self.started.seat

    @property
    def asked(self) -> MoveQuery:
        """What the match asks of the player now."""
        state = self.states[-1]
        if self.over:
            return MoveQuery.LEAVE
        if self.given_up or not self.in_sight or self.done == self.ply or self.game.winner(state):
            return MoveQuery.NOTHING
        if self.game.current_player(state) == self.number:
            return MoveQuery.CHOICE
        return MoveQuery.PONDERING if self.player.ponders else MoveQuery.NOTHING

    @property
    def step(self) -> Step:
        """What is to be done next."""
        if self.since != self.ply and self.doing in (Doing.CHOOSING, Doing.PONDERING):
            return Step.CANCEL
        return STEPS[self.doing, self.asked]


@dataclass
class ResultCounts:
    """Results so far."""

    won: int = 0
    lost: int = 0
    tied: int = 0
    void: int = 0
    faults: int = 0

    def count(self, winner: int, seat: int) -> None:
        """The match of the player with that seat is over: 1, 2, -1 for a tie, 0 for no result."""
        if winner == 0:
            self.void += 1
        elif winner < 0:
            self.tied += 1
        elif winner == seat:
            self.won += 1
        else:
            self.lost += 1

    @property
    def played(self) -> int:
        """Matches with a result."""
        return self.won + self.lost + self.tied

    def __str__(self) -> str:
        void = f", {self.void} without result" if self.void else ""
        return f"{self.won} won, {self.lost} lost, {self.tied} tied{void}"
