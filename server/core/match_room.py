"""A match with its players and spectators: what each is sent, and what is stored of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from playout.protocol.messages import (
    Analysis,
    ClockState,
    Ended,
    LegalMove,
    OfferClosed,
    OpenOffer,
    RequestId,
    Seat,
    Started,
    Summary,
    TakenBack,
    Update,
)
from playout.server.core.agreed_scores import AgreedScores
from playout.server.core.match import Match, Status
from playout.server.core.offers import How, MatchOffers
from playout.server.core.sessions import Session
from playout.server.core.timers import Timer
from playout.server.core.view import MatchView
from playout.server.model.records import (
    LadderMatch,
    MatchEnded,
    MatchStarted,
    MovePlayed,
    MovesTakenBack,
)


class _Audience(NamedTuple):
    """Spectators that are sent the same messages.

    `informed` spectators are sent the mover's analysis: all whose name is not a player's.
    """

    legal_actions: bool
    views: bool
    informed: bool


class PendingUpdate(NamedTuple):
    """A move that spectators have not been sent, with what may change until then."""

    ply: int
    info: Analysis | None
    clocks: tuple[ClockState, ClockState] | None
    #: Number of the record that must be stored before the move is announced.
    record: int


@dataclass
class MatchRoom:
    """A match that is being played; `seats` are the sessions of player 1 and player 2."""

    match: Match
    seats: tuple[Session, Session]
    #: Number of the record that must be stored before the match goes on.
    awaits: int = 0
    #: The match's tournament, its place in the schedule, and the length of its opening in plies.
    tournament: str | None = None
    fixture: str | None = None
    opening: int = 0
    #: The match's place on a ladder.
    ladder: LadderMatch | None = None
    #: The speed of the cores that both players think on, if it is known.
    core_speed: float | None = None
    #: In seconds since 1970.
    started_at: float = 0.0
    #: For each seat, which player the server has started for it.
    bots: tuple[str | None, str | None] = (None, None)
    #: The win rates of the players, if they may end the match.
    scores: AgreedScores | None = None
    #: Ends the match when the time of the player to move is up.
    clock_timer: Timer | None = None

    def __post_init__(self) -> None:
        self.view = MatchView(self.match)
        self.offers = MatchOffers(self.match, assigned=self.is_assigned)
        #: Moves that spectators have not been sent.
        self.unshown: list[PendingUpdate] = []
        self._watchers: dict[_Audience, dict[str, Session]] = {}
        #: The keys of the watching sessions that count as spectators: not those with a small board.
        self._counted: set[str] = set()
        #: How many of them each name has.
        self._spectator_names: Counter[str] = Counter()
        #: The number of spectators that all have been told; None if they may know different ones.
        self.told_count: int | None = 0

    @property
    def is_assigned(self) -> bool:
        """Whether a tournament or a ladder has assigned the match to its players."""
        return self.tournament is not None or self.ladder is not None

    def seat_of(self, session: Session) -> Seat | None:
        """The seat of a session; None if it does not play here."""
        return 1 if self.seats[0] is session else 2 if self.seats[1] is session else None

    def has_player_named_like(self, session: Session) -> bool:
        """Whether the session, or another one of the same name, plays here."""
        return session.skeleton in (self.seats[0].skeleton, self.seats[1].skeleton)

    @property
    def is_deserted(self) -> bool:
        """Whether it is a match of a tournament, and both players are disconnected."""
        return self.tournament is not None and all(each.connection is None for each in self.seats)

    def reseat(self, seat: Seat, session: Session) -> None:
        """Give a seat to another session."""
        first, second = self.seats
        self.seats = (session, second) if seat == 1 else (first, session)
        self.unwatch(session)

    def watchers(self) -> list[Session]:
        """The sessions that watch and do not play."""
        return [each for sessions in self._watchers.values() for each in sessions.values()]

    def spectators(self) -> list[Session]:
        """The sessions that watch, and do not only show a small board."""
        return [each for each in self.watchers() if each.key in self._counted]

    @property
    def spectator_count(self) -> int:
        """The number of spectators beside the players; those of one name count once."""
        names = self._spectator_names
        return len(names) - len({each.skeleton for each in self.seats} & names.keys())

    def watch(self, session: Session, *, preview: bool = False) -> None:
        """Send the match to a session from now on; with `preview`, it is no spectator."""
        self.unwatch(session)
        if not preview:
            self._counted.add(session.key)
            self._spectator_names[session.skeleton] += 1
        hello = session.hello
        informed = not self.has_player_named_like(session)
        audience = _Audience(hello.legal_actions, hello.views, informed)
        self._watchers.setdefault(audience, {})[session.key] = session
        session.watching.add(self.match.id)

    def unwatch(self, session: Session) -> None:
        """Stop sending the match to a session."""
        for sessions in self._watchers.values():
            sessions.pop(session.key, None)
        if session.key in self._counted:
            self._counted.remove(session.key)
            self._spectator_names[session.skeleton] -= 1
            if not self._spectator_names[session.skeleton]:
                del self._spectator_names[session.skeleton]
        session.watching.discard(self.match.id)

    # What is sent.

    def started(self, session: Session, now: float, re: RequestId | None = None) -> Started:
        """The whole match as one session sees it."""
        match, hello = self.match, session.hello
        seat, views = self.seat_of(session), session.has_views
        moves = views and seat == match.to_move
        controls = match.terms.time_controls
        return Started(
            re=re,
            match=match.id,
            game=str(match.game),
            players=match.players,
            seat=seat,
            clock=match.clock_name,
            time_control=controls[(seat or 1) - 1] if controls else None,
            time_controls=controls if controls and controls[0] != controls[1] else None,
            clocks=match.clock_states(now),
            rated=match.terms.rated,
            moves=tuple(match.moves),
            state=match.state,
            to_move=match.to_move,
            legal_actions=match.legal_actions() if hello.legal_actions else None,
            board=self.view.board() if views else None,
            view=self.view.position(match.ply) if views else None,
            legal_moves=self.view.legal_moves(match.ply) if moves else None,
            offers=self.offers.open if seat else (),
            spectators=self.spectator_count if views else 0,
        )

    def updates(
        self, ply: int, now: float, mover: Session, re: RequestId | None
    ) -> Iterator[tuple[Session, Update]]:
        """Move number `ply` for both players; the mover's, with the request's id, comes last.

        So the opponent begins to think a little sooner, above all on a core that both share.
        Legal actions and views are for players that asked for them, legal moves for the one to
        move. Neither is sent the other's analysis.
        """
        move = PendingUpdate(ply, None, self.match.clock_states(now), 0)
        first, second = self.seats
        if first is mover:
            first, second = second, first
        yield first, self._player_update(move, first, None)
        yield second, self._player_update(move, second, re if second is mover else None)

    def _player_update(self, move: PendingUpdate, session: Session, re: RequestId | None) -> Update:
        views, legal_moves = session.has_views, None
        audience = _Audience(session.hello.legal_actions, views, informed=False)
        if views and self.seat_of(session) == self.match.to_move_at(move.ply + 1):
            legal_moves = self.view.legal_moves(move.ply + 1)
        return self._update(move, audience, re=re, legal_moves=legal_moves)

    def count_score(self, record: MovePlayed) -> None:
        """Take the win rate of a move; the match ends if both players agree on its result."""
        if self.scores is None:
            return
        self.scores.moved(record.seat, record.ply, record.info)
        winner = self.scores.winner()
        if winner is not None and self.match.status is Status.PLAYING:
            self.match.adjudicate(self.match.ply, winner, "by the win rates of both players")

    def show_later(self, ply: int, now: float, info: Analysis | None, record: int) -> None:
        """Keep move number `ply` for the spectators until record number `record` is stored."""
        if any(self._watchers.values()):
            clocks = self.match.clock_states(now)
            self.unshown.append(PendingUpdate(ply, info, clocks, record))

    def spectator_updates(
        self, moves: list[PendingUpdate]
    ) -> Iterator[tuple[list[Session], tuple[Update, ...]]]:
        """Moves for spectators: the same messages for all that are sent the same.

        A spectator with the name of a player is not sent the mover's analysis. Legal actions and
        views are as for players.
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
        legal_moves: tuple[LegalMove, ...] | None = None,
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
            legal_actions=match.legal_actions(after) if audience.legal_actions else None,
            view=self.view.position(after, info) if audience.views else None,
            legal_moves=legal_moves,
        )

    def offer_closed(self, offer: OpenOffer, how: How) -> OfferClosed:
        """The message about an offer that is open no longer."""
        return OfferClosed(
            match=self.match.id, offer=offer.offer, player=offer.player, ply=offer.ply, how=how
        )

    def taken_back(
        self, seat: Seat, now: float, origin: Session, re: RequestId | None
    ) -> Iterator[tuple[Session, TakenBack]]:
        """The takeback of `seat` for both players; that for `origin` has the request's id."""
        ply, to_move = self.match.ply, self.match.to_move
        for session in self.seats:
            audience = _Audience(session.hello.legal_actions, session.has_views, informed=False)
            moves = session.has_views and self.seat_of(session) == to_move
            yield (
                session,
                self._taken_back(
                    seat,
                    now,
                    audience,
                    re=re if session is origin else None,
                    legal_moves=self.view.legal_moves(ply) if moves else None,
                ),
            )

    def spectators_taken_back(
        self, seat: Seat, now: float
    ) -> Iterator[tuple[list[Session], TakenBack]]:
        """The takeback of `seat`: the same message for all spectators that are sent the same."""
        for audience, sessions in self._watchers.items():
            if sessions:
                yield list(sessions.values()), self._taken_back(seat, now, audience)

    def _taken_back(
        self,
        seat: Seat,
        now: float,
        audience: _Audience,
        *,
        re: RequestId | None = None,
        legal_moves: tuple[LegalMove, ...] | None = None,
    ) -> TakenBack:
        match = self.match
        return TakenBack(
            re=re,
            match=match.id,
            ply=match.ply,
            player=seat,
            state=match.state,
            to_move=match.to_move,
            clocks=match.clock_states(now),
            legal_actions=match.legal_actions() if audience.legal_actions else None,
            view=self.view.position(match.ply) if audience.views else None,
            legal_moves=legal_moves,
        )

    def ended(self) -> Ended:
        """The message about the end of the match, which must have ended."""
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

    def summary(self) -> Summary:
        """The match in one line of a list."""
        match = self.match
        return Summary(
            match=match.id,
            game=str(match.game),
            players=match.players,
            clock=match.clock_name,
            ply=match.ply,
        )

    # What is stored.

    def started_record(self, at: float) -> MatchStarted:
        """The record of the match's start; `at` in seconds since 1970."""
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
            ladder=self.ladder,
            core_speed=self.core_speed,
            at=at,
        )

    def move_record(self, ply: int, now: float, info: Analysis | None, at: float) -> MovePlayed:
        """The record of move number `ply`, the last one; `at` in seconds since 1970."""
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

    def takeback_record(self, at: float) -> MovesTakenBack:
        """The record of a takeback to the present position; `at` in seconds since 1970."""
        return MovesTakenBack(match=self.match.id, ply=self.match.ply, at=at)

    def ended_record(self, at: float) -> MatchEnded:
        """The record of the match's end; `at` in seconds since 1970."""
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
