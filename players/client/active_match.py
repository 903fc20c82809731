"""The match of a connected player: what is known of it, and what the player has to do next."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from games import Game, State
from players.core.player import Info, Player
from server.model.messages import ClockState, OpenOffer, Started


class Doing(enum.Enum):
    """What the player's thread does."""

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
    """What follows from the two."""

    WAIT = enum.auto()
    CHOOSE = enum.auto()
    PONDER = enum.auto()
    CANCEL = enum.auto()
    LEAVE = enum.auto()


#: A choice continues while the connection is lost: the match may come back unchanged.
STEPS: Mapping[tuple[Doing, MoveQuery], Step] = {
    (Doing.NOTHING, MoveQuery.NOTHING): Step.WAIT,
    (Doing.NOTHING, MoveQuery.CHOICE): Step.CHOOSE,
    (Doing.NOTHING, MoveQuery.PONDERING): Step.PONDER,
    (Doing.NOTHING, MoveQuery.LEAVE): Step.LEAVE,
    (Doing.CHOOSING, MoveQuery.NOTHING): Step.WAIT,
    (Doing.CHOOSING, MoveQuery.CHOICE): Step.WAIT,
    (Doing.CHOOSING, MoveQuery.PONDERING): Step.CANCEL,
    (Doing.CHOOSING, MoveQuery.LEAVE): Step.CANCEL,
    (Doing.PONDERING, MoveQuery.NOTHING): Step.CANCEL,
    (Doing.PONDERING, MoveQuery.CHOICE): Step.CANCEL,
    (Doing.PONDERING, MoveQuery.PONDERING): Step.WAIT,
    (Doing.PONDERING, MoveQuery.LEAVE): Step.CANCEL,
    **{(Doing.STOPPING, query): Step.WAIT for query in MoveQuery},
}


@dataclass
class ActiveMatch:
    """A match that the player plays, from the player's view."""

    started: Started
    player: Player
    #: All states so far, the present one last.
    states: list[State]
    clocks: tuple[ClockState, ClockState] | None
    #: The actions between the states.
    moves: list[int] = field(default_factory=list)
    doing: Doing = Doing.NOTHING
    #: The ply at which the player began with what it is doing.
    since: int = 0
    #: The ply for which the player is done: it has sent a move, or pondered to the end.
    done: int | None = None
    #: The analysis of the move that was sent last, until the move is played.
    info: Info | None = None
    #: Whether the server has sent the match on the present connection.
    connected: bool = True
    #: Whether the player resigns the match.
    resigned: bool = False
    over: bool = False
    #: The open offers, by the seat of the player who has made it.
    offers: dict[int, OpenOffer] = field(default_factory=dict)

    @property
    def game(self) -> Game:
        """The rules of the match."""
        return self.player.game

    @property
    def ply(self) -> int:
        """The number of the next move, from 0."""
        return len(self.states) - 1

    @property
    def seat(self) -> int:
        """The player's seat: 1 moves first, 2 second."""
        assert self.started.seat is not None
        return self.started.seat

    @property
    def opponent(self) -> str:
        """The name of the other player."""
        return self.started.players[2 - self.seat]

    def take_back(self, ply: int) -> None:
        """Forget the moves from number `ply` on, and what the player has done about them."""
        del self.states[ply + 1 :], self.moves[ply:]
        self.done = self.info = None

    @property
    def query(self) -> MoveQuery:
        """What the match asks of the player now."""
        state = self.states[-1]
        if self.over:
            return MoveQuery.LEAVE
        if self.resigned or not self.connected or self.done == self.ply or self.game.winner(state):
            return MoveQuery.NOTHING
        if self.game.current_player(state) == self.seat:
            return MoveQuery.CHOICE
        return MoveQuery.PONDERING if self.player.ponders else MoveQuery.NOTHING

    @property
    def step(self) -> Step:
        """What has to be done next."""
        if self.since != self.ply and self.doing in (Doing.CHOOSING, Doing.PONDERING):
            return Step.CANCEL
        return STEPS[self.doing, self.query]


@dataclass
class ResultCounts:
    """The results of a connected player, and how often its program failed."""

    won: int = 0
    lost: int = 0
    tied: int = 0
    void: int = 0
    faults: int = 0

    def count(self, winner: int, seat: int) -> None:
        """Add a match of the player with that seat; -1 stands for a tie, 0 for no result."""
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
        """The number of matches with a result."""
        return self.won + self.lost + self.tied

    def __str__(self) -> str:
        void = f", {self.void} without result" if self.void else ""
        return f"{self.won} won, {self.lost} lost, {self.tied} tied{void}"
