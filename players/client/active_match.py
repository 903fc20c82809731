"""The match of a connected player: its state, and the next step of the player.

`TakeOvers` finds matches that another process of the account has left, as after a crash.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from playout.games import Game
from playout.players.core.player import Info, Player
from playout.protocol.connection import ServerConnection
from playout.protocol.followed_match import MatchByRules
from playout.protocol.messages import (
    Code,
    Error,
    Started,
    TakeOver,
    Unwatch,
    Watch,
)


class Doing(enum.Enum):
    """The current activity of the player's thread."""

    NOTHING = enum.auto()
    CHOOSING = enum.auto()
    PONDERING = enum.auto()
    STOPPING = enum.auto()
    PREPARING = enum.auto()


#: The activities for a match, which must end soon after it.
THINKING = (Doing.CHOOSING, Doing.PONDERING, Doing.STOPPING)


class MoveQuery(enum.Enum):
    """The demand of the match on the player."""

    NOTHING = enum.auto()
    CHOICE = enum.auto()
    PONDERING = enum.auto()
    LEAVE = enum.auto()


class Step(enum.Enum):
    """The next step, which follows from the two."""

    WAIT = enum.auto()
    CHOOSE = enum.auto()
    PONDER = enum.auto()
    CANCEL = enum.auto()
    LEAVE = enum.auto()


#: A choice continues while the connection is lost: the match may be unchanged afterwards.
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
    **{
        (doing, query): Step.WAIT
        for doing in (Doing.STOPPING, Doing.PREPARING)
        for query in MoveQuery
    },
}


@dataclass(kw_only=True)
class ActiveMatch(MatchByRules):
    """A match of the player, and the activity of the player's thread."""

    player: Player
    doing: Doing = Doing.NOTHING
    #: The ply at which the current activity began.
    since: int = 0
    #: The ply for which the player has finished: it has sent a move, or pondered to the end.
    done: int | None = None
    #: The analysis of the move that was sent last, until the move is played.
    info: Info | None = None
    #: Whether the server has sent the match on the current connection.
    connected: bool = True
    #: Whether the player resigns the match.
    resigned: bool = False
    #: The error of the player, if it resigns for it.
    error: str | None = None
    over: bool = False
    #: Whether its player has asked to abort it.
    aborting: bool = False
    #: Whether it is the first assigned match of its game: its player may compile on the clock.
    is_first: bool = False

    @property
    def excludes_others(self) -> bool:
        """Whether no other match may be assigned until its player is ready again."""
        return self.is_first or self.player.prepares

    @property
    def game(self) -> Game:
        """The rules of the match."""
        return self.player.game

    def take_back(self, ply: int) -> None:
        """Forget the moves from number `ply` on, and the player's work on them."""
        super().take_back(ply)
        self.done = self.info = None

    @property
    def query(self) -> MoveQuery:
        """The current demand of the match on the player."""
        if self.over:
            return MoveQuery.LEAVE
        if self.resigned or not self.connected or self.done == self.ply or self.position.winner:
            return MoveQuery.NOTHING
        if self.position.to_move == self.seat:
            return MoveQuery.CHOICE
        return MoveQuery.PONDERING if self.player.ponders else MoveQuery.NOTHING

    @property
    def step(self) -> Step:
        """The next step of the player's thread."""
        if self.since != self.ply and self.doing in (Doing.CHOOSING, Doing.PONDERING):
            return Step.CANCEL
        return STEPS[self.doing, self.query]


@dataclass
class ResultCounts:
    """The results of a connected player, and the number of failures of its program."""

    won: int = 0
    lost: int = 0
    tied: int = 0
    void: int = 0
    faults: int = 0

    def count(self, winner: int, seat: int) -> None:
        """Count a match of the player in that seat; -1 is a tie, 0 no result."""
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


#: The ids of the requests of `TakeOvers`.
_WATCH, _TAKE_OVER, _UNWATCH = "watch", "take_over", "unwatch"


class TakeOvers:
    """Tries the left matches of the account one after the other, until it takes over one."""

    def __init__(
        self,
        reactor: Any,
        admits: Callable[[str], bool],
        show: Callable[[str], None],
        none_left: Callable[[], None],
    ) -> None:
        """`admits` says whether a game can be played; `none_left` is called after the last match.

        `show` shows a line to the user.
        """
        self.connection: ServerConnection
        self._reactor = reactor
        self._admits = admits
        self._show = show
        self._none_left = none_left
        self._away: list[str] = []
        self._match: str | None = None

    def set_away(self, away: tuple[str, ...]) -> None:
        """Try these matches from now on, in place of earlier ones."""
        self._away = list(away)
        self._match = None

    def next(self) -> None:
        """Try the next match. The result is an event `started` with a seat, or `none_left`."""
        self._match = self._away.pop(0) if self._away else None
        if self._match is None:
            self._none_left()
        else:
            self.connection.send(Watch(id=_WATCH, match=self._match))

    def shown(self, started: Started) -> None:
        """Take over a watched match, if its game can be played."""
        if started.match != self._match:
            return
        self.connection.send(Unwatch(id=_UNWATCH, match=started.match))
        if self._admits(started.game):
            self._take_over(started.match)
        else:
            self._show(f"Match {started.match} of yours waits for a player of {started.game}.")
            self.next()

    def refused(self, error: Error) -> bool:
        """Handle a refusal. Returns whether the request was made here."""
        if error.re == _UNWATCH:
            return True
        if error.re not in (_WATCH, _TAKE_OVER):
            return False
        match = self._match
        if match is not None and error.code is Code.NOT_AWAY and error.seconds is not None:
            self._show(f"Match {match} of yours can be taken over in {error.seconds:.1f} s.")
            self._reactor.callLater(error.seconds, self._take_over, match)
        elif match is not None:  # over, or taken over by another player of the account
            self.next()
        return True

    def _take_over(self, match: str) -> None:
        if match == self._match:  # otherwise the connection was lost meanwhile
            self.connection.send(TakeOver(id=_TAKE_OVER, match=match))
