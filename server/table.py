"""A table: a match, who plays it, who watches, what each is told, and what is stored of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from server.match import Match
from server.messages import Ended, RequestId, Seat, Started, Thought, Update
from server.records import Begun, Finished, Played
from server.session import Session


@dataclass
class Table:
    """`seats` are those of player 1 and player 2."""

    match: Match
    seats: tuple[Session, Session]
    watchers: dict[str, Session] = field(default_factory=dict)
    #: The number of the record that must be stored before the match goes on.
    awaits: int = 0
    #: Of a tournament: which, which of its matches this is, and the length of its opening.
    tournament: str | None = None
    fixture: str | None = None
    opening: int = 0

    def seat_of(self, session: Session) -> Seat | None:
        """Which side a session plays."""
        return 1 if self.seats[0] is session else 2 if self.seats[1] is session else None

    def has(self, session: Session) -> bool:
        """Does it play here, or another session of the same name?"""
        return session.likeness in (self.seats[0].likeness, self.seats[1].likeness)

    def reseat(self, seat: Seat, session: Session) -> None:
        """Another session plays on."""
        first, second = self.seats
        self.seats = (session, second) if seat == 1 else (first, session)

    def everybody(self) -> list[Session]:
        """Those who play and those who watch."""
        return [*self.seats, *self.watchers.values()] if self.watchers else list(self.seats)

    def watch(self, session: Session) -> None:
        """Show the match to a session from now on."""
        self.watchers[session.key] = session
        session.watching.add(self.match.id)

    def unwatch(self, session: Session) -> None:
        """Show it no longer."""
        self.watchers.pop(session.key, None)
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
        self, ply: int, now: float, info: Thought | None, mover: Session, re: RequestId | None
    ) -> Iterator[tuple[list[Session], Update]]:
        """Move number `ply`, the same message for all who see the same; the mover's first.

        Only those who watch, and are not called as one of the players, are told what the mover
        thinks; only those who asked for them get legal actions; the mover gets its request's id.
        """
        match, after = self.match, self.match.states[ply + 1]
        clocks, to_move = match.readings(now), match.to_move_at(ply + 1)
        audience = {(True, mover.hello.legal_actions, False): [mover]}
        for session in self.everybody():
            if session is not mover:
                watches = info is not None and not self.has(session)
                audience.setdefault((False, session.hello.legal_actions, watches), []).append(
                    session
                )
        for (asked, legal, watches), sessions in audience.items():
            update = Update(
                re=re if asked else None,
                match=match.id,
                ply=ply,
                player=match.mover(ply),
                action=match.moves[ply],
                state=after,
                to_move=to_move,
                clocks=clocks,
                info=info if watches else None,
                legal_actions=match.legal_actions(ply + 1) if legal else None,
            )
            yield sessions, update

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

    def begun(self, at: float) -> Begun:
        """What is stored when it begins."""
        match, (first, second) = self.match, self.seats
        return Begun(
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
            at=at,
        )

    def played(self, ply: int, now: float, info: Thought | None, at: float) -> Played:
        """What is stored of move number `ply`, the last."""
        match = self.match
        return Played(
            match=match.id,
            ply=ply,
            seat=match.mover(ply),
            action=match.moves[ply],
            clocks=match.readings(now),
            info=info,
            at=at,
        )

    def finished(self, at: float) -> Finished:
        """What is stored of its end."""
        result = self.match.result
        assert result is not None
        return Finished(
            match=self.match.id,
            winner=result.winner,
            returns=result.returns,
            reason=result.reason,
            text=result.text,
            at=at,
        )
