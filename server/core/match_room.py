"""A table: a match, who plays it, who watches, what each is told, and what is stored of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from server.core.drawing import MatchView
from server.core.match import Match
from server.core.sessions import Session
from server.model.messages import (
    Analysis,
    ClockState,
    Ended,
    LegalMove,
    RequestId,
    Seat,
    Started,
    Update,
)
from server.model.records import MatchEnded, MatchStarted, MovePlayed


class _Audience(NamedTuple):
    """Those who watch and are told the same.

    `informed` are those who are told what the mover thinks: all who are not called as a player is.
    """

    legal: bool
    views: bool
    informed: bool


class PendingUpdate(NamedTuple):
    """A move that those who watch are to be told of: all of it that may change meanwhile."""

    ply: int
    info: Analysis | None
    clocks: tuple[ClockState, ClockState] | None
    record: int


@dataclass
class MatchRoom:
    """`seats` are those of player 1 and player 2."""

    match: Match
    seats: tuple[Session, Session]
    #: The number of the record that must be stored before the match goes on.
    awaits: int = 0
    #: Of a tournament: which, which of its matches this is, and the length of its opening.
    tournament: str | None = None
    fixture: str | None = None
    opening: int = 0
    #: In seconds since 1970.
    begun_at: float = 0.0
    #: The players of the bots that the server has started for these seats.
    bots: tuple[str | None, str | None] = (None, None)

    def __post_init__(self) -> None:
        self.drawing = MatchView(self.match)
        #: Moves that those who watch have not been told of.
        self.unshown: list[PendingUpdate] = []
        self._watchers: dict[_Audience, dict[str, Session]] = {}

    def seat_of(self, session: Session) -> Seat | None:
        """Which side a session plays."""
        return 1 if self.seats[0] is session else 2 if self.seats[1] is session else None

    def has(self, session: Session) -> bool:
        """Does it play here, or another session of the same name?"""
        return session.skeleton in (self.seats[0].skeleton, self.seats[1].skeleton)

    def reseat(self, seat: Seat, session: Session) -> None:
        """Another session plays on."""
        first, second = self.seats
        self.seats = (session, second) if seat == 1 else (first, session)
        self.unwatch(session)

    def watchers(self) -> list[Session]:
        """Those who watch and do not play."""
        return [each for sessions in self._watchers.values() for each in sessions.values()]

    def watch(self, session: Session) -> None:
        """Show the match to a session from now on."""
        self.unwatch(session)
        hello = session.hello
        audience = _Audience(hello.legal_actions, hello.views, not self.has(session))
        self._watchers.setdefault(audience, {})[session.key] = session
        session.watching.add(self.match.id)

    def unwatch(self, session: Session) -> None:
        """Show it no longer."""
        for sessions in self._watchers.values():
            sessions.pop(session.key, None)
        session.watching.discard(self.match.id)

    def started(self, session: Session, now: float, re: RequestId | None = None) -> Started:
        """All of the match, as one session sees it."""
        match, hello = self.match, session.hello
        seat, views = self.seat_of(session), hello.views
        chooses = views and seat == match.to_move
        return Started(
            re=re,
            match=match.id,
            game=str(match.game),
            players=match.players,
            seat=seat,
            clock=match.clock_name,
            time_control=match.terms.time_control,
            clocks=match.clock_states(now),
            rated=match.terms.rated,
            moves=tuple(match.moves),
            state=match.state,
            to_move=match.to_move,
            legal_actions=match.legal_actions() if hello.legal_actions else None,
            board=self.drawing.board() if views else None,
            view=self.drawing.view(match.ply) if views else None,
            legal_moves=self.drawing.legal_moves(match.ply) if chooses else None,
        )

    def updates(
        self, ply: int, now: float, mover: Session, re: RequestId | None
    ) -> Iterator[tuple[Session, Update]]:
        """Move number `ply`, for both who play; the mover's, with its request's id, comes last.

        Who is to move begins to think a little sooner for it, above all on a core that both share.
        Only those who asked for them get legal actions and views, and choices when it is their
        turn. Neither is told what the other thinks.
        """
        to_move = self.match.to_move_at(ply + 1)
        clocks = self.match.clock_states(now)
        for session in sorted(self.seats, key=lambda each: each is mover):
            hello = session.hello
            audience = _Audience(hello.legal_actions, hello.views, informed=False)
            chooses = hello.views and self.seat_of(session) == to_move
            yield (
                session,
                self._update(
                    PendingUpdate(ply, None, clocks, 0),
                    audience,
                    re=re if session is mover else None,
                    choices=self.drawing.legal_moves(ply + 1) if chooses else None,
                ),
            )

    def show_later(self, ply: int, now: float, info: Analysis | None, record: int) -> None:
        """Have move number `ply` among those that are `shown` next; it rests on that record."""
        if any(self._watchers.values()):
            self.unshown.append(PendingUpdate(ply, info, self.match.clock_states(now), record))

    def shown(
        self, moves: list[PendingUpdate]
    ) -> Iterator[tuple[list[Session], tuple[Update, ...]]]:
        """Moves for those who watch, the same messages for all who see the same.

        Only those who are not called as one of the players are told what the mover thinks; legal
        actions and views are as for players.
        """
        for audience, sessions in self._watchers.items():
            if sessions:
                updates = tuple(self._update(move, audience) for move in moves)
                yield list(sessions.values()), updates

    def _update(
        self,
        move: PendingUpdate,
        audience: _Audience,
        *,
        re: RequestId | None = None,
        choices: tuple[LegalMove, ...] | None = None,
    ) -> Update:
        match, after = self.match, move.ply + 1
        info = move.info if audience.informed else None
        return Update(
            re=re,
            match=match.id,
            ply=move.ply,
            player=match.mover(move.ply),
            action=match.moves[move.ply],
            state=match.states[after],
            to_move=match.to_move_at(after),
            clocks=move.clocks,
            info=info,
            legal_actions=match.legal_actions(after) if audience.legal else None,
            view=self.drawing.view(after, info) if audience.views else None,
            legal_moves=choices,
        )

    def ended(self) -> Ended:
        """How it ended."""
        result = self.match.result
        assert result is not None
        return Ended(
            match=self.match.id,
            winner=result.winner,
            returns=result.returns,
            reason=result.reason,
            text=result.text,
            state=self.match.state,
        )

    def begun(self, at: float) -> MatchStarted:
        """What is stored when it begins."""
        match, (first, second) = self.match, self.seats
        return MatchStarted(
            match=match.id,
            game=str(match.game),
            players=match.players,
            accounts=(
                first.account.id if first.account else None,
                second.account.id if second.account else None,
            ),
            sessions=(first.key, second.key),
            clock=match.clock_name,
            rated=match.terms.rated,
            illegal_moves=match.terms.illegal_moves,
            credit_cap_s=match.terms.credit_cap_s,
            opening=self.opening,
            max_plies=match.terms.max_plies,
            tournament=self.tournament,
            fixture=self.fixture,
            bots=self.bots,
            at=at,
        )

    def played(self, ply: int, now: float, info: Analysis | None, at: float) -> MovePlayed:
        """What is stored of move number `ply`, the last."""
        match = self.match
        return MovePlayed(
            match=match.id,
            ply=ply,
            seat=match.mover(ply),
            action=match.moves[ply],
            clocks=match.clock_states(now),
            info=info,
            at=at,
        )

    def finished(self, at: float) -> MatchEnded:
        """What is stored of its end."""
        result = self.match.result
        assert result is not None
        return MatchEnded(
            match=self.match.id,
            winner=result.winner,
            returns=result.returns,
            reason=result.reason,
            text=result.text,
            at=at,
        )
