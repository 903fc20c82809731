"""A table: a match, who plays it, who watches, and what each of them is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec import structs

from server.match import Match
from server.messages import Ended, RequestId, Seat, Started, Thought, Update
from server.session import Session


@dataclass
class Table:
    """`seats` are those of player 1 and player 2."""

    match: Match
    seats: tuple[Session, Session]
    watchers: dict[str, Session] = field(default_factory=dict)

    def seat_of(self, session: Session) -> Seat | None:
        """Which side a session plays."""
        return 1 if self.seats[0] is session else 2 if self.seats[1] is session else None

    def everybody(self) -> list[Session]:
        """Those who play and those who watch."""
        return [*self.seats, *self.watchers.values()]

    def watch(self, session: Session) -> None:
        """Show the match to a session from now on."""
        self.watchers[session.token] = session
        session.watching.add(self.match.id)

    def unwatch(self, session: Session) -> None:
        """Show it no longer."""
        self.watchers.pop(session.token, None)
        session.watching.discard(self.match.id)

    def started(self, session: Session, now: float, re: RequestId | None = None) -> Started:
        """All of the match, as one session sees it."""
        match = self.match
        return Started(
            re=re,
            match=match.id,
            game=str(match.game),
            players=match.players,
            seat=self.seat_of(session),
            clock=match.clock_name,
            control=match.terms.control,
            clocks=match.readings(now),
            rated=match.terms.rated,
            moves=tuple(match.moves),
            state=match.state,
            to_move=match.to_move,
            legal_actions=match.legal_actions() if session.hello.legal_actions else None,
        )

    def updates(
        self, ply: int, now: float, info: Thought | None
    ) -> Iterator[tuple[list[Session], Update]]:
        """Move number `ply`, the same message for all who see the same.

        Only those who watch are told what the mover thinks, and only those who asked for them get
        legal actions.
        """
        audience: dict[tuple[bool, bool], list[Session]] = {}
        for session in self.everybody():
            watches = info is not None and self.seat_of(session) is None
            audience.setdefault((session.hello.legal_actions, watches), []).append(session)
        update = self._update(ply, now)
        for (legal, watches), sessions in audience.items():
            actions = self.match.legal_actions(ply + 1) if legal else None
            thought = info if watches else None
            yield sessions, structs.replace(update, legal_actions=actions, info=thought)

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

    def _update(self, ply: int, now: float) -> Update:
        match = self.match
        after = match.states[ply + 1]
        return Update(
            match=match.id,
            ply=ply,
            player=match.mover(ply),
            action=match.moves[ply],
            state=after,
            to_move=0 if match.game.winner(after) else match.game.current_player(after),
            clocks=match.readings(now),
        )
