"""A match with its players and spectators, from its start to its end.

The room owns its match: each change is made, stored and sent by a method of the room. Players are
sent a move when it is stored, and spectators when nothing else is to be done. The queues in which
rooms wait for one or the other are in `playout.server.core.rooms`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from msgspec import structs

from playout.protocol.messages import (
    Analysis,
    Code,
    Ended,
    LegalMove,
    Move,
    OfferClosed,
    Offered,
    OpenOffer,
    Reason,
    RequestId,
    Seat,
    Started,
    Summary,
)
from playout.protocol.time_control import is_correspondence
from playout.protocol.tournament_spec import Adjudication
from playout.server.core.agreements import AgreedScores, How, MatchOffers, decides
from playout.server.core.context import Context, FeatureEvent
from playout.server.core.guarded_game import GameFault
from playout.server.core.match import Match, Refused, Status
from playout.server.core.match_spectators import MatchSpectators
from playout.server.core.match_storage import MatchStorage
from playout.server.core.sessions import Session
from playout.server.core.view import Audience, MatchView, ShownMove
from playout.server.model.records import (
    LadderMatch,
    MatchEnded,
    MatchStarted,
    MovePlayed,
    MovesTakenBack,
    SeatTakenOver,
)

T = TypeVar("T")

#: Why a match of a tournament has no result if both players are disconnected when it ends.
_DESERTED = "both players were disconnected"

#: What a player by correspondence has at least after a restart of the server.
_LEFT_AFTER_RESTART_S = 3600.0


@dataclass(frozen=True)
class MatchOver(FeatureEvent):
    """A match has ended; `record` is what is stored of its end."""

    room: MatchRoom
    record: MatchEnded


@dataclass(frozen=True)
class TurnBegan(FeatureEvent):
    """The clock of a player runs, in a match by correspondence or with proofs."""

    room: MatchRoom


@dataclass(frozen=True)
class GameFailed(FeatureEvent):
    """The game of a match has failed: the match is to be aborted."""

    room: MatchRoom
    fault: GameFault


class RoomQueues(Protocol):
    """The queues of all rooms, as one room uses them: see `playout.server.core.rooms.Rooms`."""

    def add(self, room: MatchRoom) -> None:
        """Add the room of a match that begins or continues."""

    def remove(self, room: MatchRoom) -> None:
        """Remove the room of a match that has ended."""

    def hold(self, room: MatchRoom, record: int) -> None:
        """Call `room.stored(record)` when the records up to number `record` are stored."""

    def recount(self, room: MatchRoom, now: float) -> None:
        """Call `room.send_spectator_count` within a few seconds."""


class MatchRoom:
    """A match that is being played; `seats` are the sessions of player 1 and player 2."""

    def __init__(
        self,
        context: Context,
        rooms: RoomQueues,
        match: Match,
        seats: tuple[Session, Session],
        record: MatchStarted,
        *,
        draws: bool,
        adjudication: Adjudication | None = None,
    ) -> None:
        """`record` is that of the match's start; `draws`: whether players may offer draws.

        `adjudication`: when a match of a tournament ends early.
        """
        self.match = match
        self.seats = seats
        self.record = record
        #: Whether it waits for players that are away: two accounts that have days for a move.
        self.is_correspondence = (
            None not in record.accounts
            and not any(record.bots)
            and not self.is_assigned
            and is_correspondence(match.terms.time_control)
        )
        self.offers = MatchOffers(match, draws=draws, takebacks=not self.is_assigned)
        self._context = context
        self._rooms = rooms
        #: The win rates of the players, if these may end the match.
        self.scores = AgreedScores(adjudication) if adjudication and decides(adjudication) else None
        #: Whether the match ends when its result is proven.
        self.proofs = adjudication is not None and adjudication.proofs
        self._view = MatchView(match, _weakly(self._game_failed), _weakly(self._undrawn))
        #: Whether the game has failed, so that the match ends without result.
        self.game_failed = False
        self.spectators = MatchSpectators(context, self._view)
        self._storage = MatchStorage(context, record)
        self._clock_timer = context.timers.new(_weakly(self._flag))
        #: Number of the record that must be stored before the match continues.
        self._awaited = 0

    @property
    def is_assigned(self) -> bool:
        """Whether a tournament or a ladder has assigned the match to its players."""
        return self.record.tournament is not None or self.record.ladder is not None

    def seat_of(self, session: Session) -> Seat | None:
        """The seat of a session; None if it does not play here."""
        return 1 if self.seats[0] is session else 2 if self.seats[1] is session else None

    # From the start to the end.

    def begin(self, now: float) -> None:
        """Start the match, store its opening, and send it to both players."""
        self._open()
        self.match.start(now)
        self._context.store(self.record)
        self._storage.begin(self.seats, now)
        for ply in range(self.match.ply):
            self._context.store(self._move_record(ply, now, None))
        self._hold()
        self._log("match {match} started: {game}, {first} against {second}, clock {clock}")
        for session in self.seats:
            self._context.send_to(session, self.started(session, now))
        self.settle(now)

    def restore(self, moves: Iterable[MovePlayed], now: float) -> None:
        """Continue a match from before the server was started, after the grace period.

        `moves` are those that the players have made. The clock of a match by correspondence has run
        on meanwhile.
        """
        moved_at = self.record.at
        for move in moves:
            moved_at = move.at
            self._count_score(move.seat, move.ply, move.info)
            self._storage.restore(move.info)
            self.spectators.show_later(ShownMove(move.ply, move.clocks, move.info))
        self._open()
        if self.is_correspondence:
            self.match.resume(moved_at - self._context.epoch, by=now + _LEFT_AFTER_RESTART_S)
        else:
            self.match.resume(now + self._context.policy.restart_grace_s)
        if self.proofs:
            self._context.queue(TurnBegan(self))
        self._log("match {match} continues at ply {plies}")
        self.settle(now)

    def restore_ended(self, ended_at: float) -> None:
        """Keep the result of a match that ended before the server was started."""
        self._keep_result(self._ended(), ended_at)
        self._rooms.remove(self)

    def move(self, seat: Seat, request: Move, now: float, lag_s: float) -> bool:
        """Make a move; False if it repeats the move that was made then, and is only answered.

        No clock runs until the move is stored and announced. Raises Refused, as `Match.play`; the
        match may be lost then: call `settle`.
        """
        ply, mover, opponent = request.ply, self.seats[seat - 1], self.seats[2 - seat]
        try:
            played = self.match.play(seat, ply, request.action, now, lag_s)
        except GameFault as fault:
            self._game_failed(fault)
            raise Refused(Code.INTERNAL, str(fault)) from fault
        if played:
            info = self._storage.move(mover, request.info, now)
            record = self._move_record(ply, now, info)
            self._context.store(record)
            self._hold()
            shown = ShownMove(ply, record.clocks, info, self._awaited)
            self.spectators.show_later(shown)
            self._count_score(seat, ply, request.info)
        shown = ShownMove(ply, self.match.clock_states(now))
        if played:  # first, so that the opponent thinks sooner, above all on a core that both share
            self._send_update(opponent, shown, None)
        self._send_update(mover, shown, request.id)
        if played:
            for offer, how in self.offers.moved(seat):
                self._context.send_to_all(self.seats, self.offer_closed(offer, how))
        self.settle(now)
        return played

    def take_back(self, seat: Seat, now: float, origin: Session, re: RequestId | None) -> None:
        """Take moves back to before the last one of `seat`; the message to `origin` has `re`.

        No clock runs until that is stored.
        """
        self.spectators.show()
        ply = self.offers.first_taken_back(seat)
        assert ply is not None
        self.match.take_back(ply, now)
        self.spectators.drop_moves(ply)
        self.offers.taken_back(seat)
        self._view.moves_taken_back()
        at = now + self._context.epoch
        self._context.store(MovesTakenBack(match=self.match.id, ply=ply, at=at))
        self._hold()
        clocks = self.match.clock_states(now)
        for session in self.seats:
            own, legal = re if session is origin else None, self._legal_moves(session, ply)
            message = self._view.taken_back(seat, clocks, _audience(session), own, legal)
            self._context.send_to(session, message)
        self.spectators.send(lambda audience: [self._view.taken_back(seat, clocks, audience)])
        self.settle(now)

    def reseat(self, seat: Seat, session: Session) -> None:
        """Give a seat to another session of the same account."""
        first, second = self.seats
        self.seats[seat - 1].matches.discard(self.match.id)
        self.seats = (session, second) if seat == 1 else (first, session)
        session.matches.add(self.match.id)
        self.spectators.remove(session)
        session.watching.discard(self.match.id)
        self._context.store(SeatTakenOver(match=self.match.id, seat=seat, session=session.key))

    def resign(self, seat: Seat, now: float) -> None:
        """End the match as lost for `seat`. Raises Refused."""
        self.match.resign(seat)
        self.settle(now)

    def agree_on_draw(self, now: float) -> None:
        """End the match as a tie, as both players want. Raises Refused."""
        self.match.agree_on_draw()
        self.settle(now)

    def agree_on_score(self, lead: float, now: float) -> None:
        """End the match with the score that both players have agreed on. Raises Refused."""
        self.match.agree_on_score(lead)
        self.settle(now)

    def adjudicate(self, ply: int, winner: int, now: float) -> None:
        """End the match with the result that is proven at this ply. Raises Refused."""
        self.match.adjudicate(ply, winner)
        self.settle(now)

    def abandon(self, seat: Seat, now: float) -> None:
        """End the match because a player has left and did not come back."""
        if self._is_deserted:
            self.match.abort(_DESERTED)
        else:
            self.match.abandon(seat)
        self.settle(now)

    def abort(self, text: str, now: float, reason: Reason = Reason.ABORTED) -> None:
        """End the match without result; nothing happens if it has ended."""
        if self.match.status is not Status.ENDED:
            self.match.abort(text, reason)
            self.settle(now)

    def settle(self, now: float) -> None:
        """After a change of the match: set the timer of its clock, or announce its end."""
        context, match = self._context, self.match
        if match.status is not Status.ENDED:
            self._clock_timer.set(match.deadline())
            return
        assert match.result
        record = MatchEnded(
            match=match.id,
            at=now + context.epoch,
            missing=match.missing,
            **vars(match.result),
        )
        ended = self._ended()
        context.store(record)
        self._keep_result(ended, now)
        context.send_to_all(self.seats, ended)
        self.spectators.show_all()
        context.send_to_spectators(self.spectators, ended)
        self._log("match {match} ended after {plies} plies: {result} ({reason})")
        self._close()
        context.queue(MatchOver(self, record))

    def stored(self, record: int, now: float) -> None:
        """Continue the match if it was held for the records up to number `record`."""
        if self._awaited == record and self.match.status is not Status.ENDED:
            self.match.resume(now)
            self._clock_timer.set(self.match.deadline())
            if self.is_correspondence or self.proofs:
                self._context.queue(TurnBegan(self))

    # Faults of the game.

    def _game_failed(self, fault: GameFault) -> None:
        """Have the match aborted at the end of this call, so that nobody loses it by the fault."""
        if not self.game_failed:
            self.game_failed = True
            self._log("match {match} is aborted, for its game has failed: {fault}",
                      fault=fault.details)  # fmt: skip
            self._context.queue(GameFailed(self, fault))

    def _undrawn(self, fault: GameFault) -> None:
        """Continue without views, unless a player needs them to make its moves."""
        if any(each.has_views for each in self.seats):
            self._game_failed(fault)
        else:
            self._log("match {match} is not drawn, for its game has failed: {fault}",
                      fault=fault.details)  # fmt: skip

    def _open(self) -> None:
        self._rooms.add(self)
        for session in self.seats:
            session.matches.add(self.match.id)

    def _close(self) -> None:
        self._rooms.remove(self)
        self._clock_timer.stop()
        for session in self.spectators:
            session.watching.discard(self.match.id)
        for session in self.seats:
            session.matches.discard(self.match.id)

    def _hold(self) -> None:
        """Hold the match until all records up to now are stored."""
        self.match.hold()
        self._awaited = self._context.records
        self._rooms.hold(self, self._awaited)

    @property
    def _is_deserted(self) -> bool:
        """Whether it is a match of a tournament, and both players are disconnected."""
        left = [each.connection is None for each in self.seats]
        return self.record.tournament is not None and all(left)

    def _flag(self, now: float) -> None:
        deadline = self.match.deadline()
        if deadline is not None and now >= deadline and self._is_deserted:
            self.match.abort(_DESERTED)
        else:
            self.match.flag(now)
        self.settle(now)

    def _count_score(self, seat: Seat, ply: int, info: Analysis | None) -> None:
        """Note the win rate of a move; the match ends if both players agree on its result."""
        if self.scores is None:
            return
        self.scores.moved(seat, ply, info)
        winner = self.scores.winner()
        if winner is not None and self.match.status is Status.PLAYING:
            self.match.adjudicate(self.match.ply, winner, "by the win rates of both players")

    def _keep_result(self, ended: Ended, at: float) -> None:
        """Keep the result for players that are away, until they come back."""
        for session in self.seats:
            session.results_since(at - self._context.policy.reconnect_s)
            session.results.append((at, ended))

    # Spectators.

    def watch(self, session: Session, now: float, *, preview: bool) -> None:
        """Send the match to a session from now on; with `preview`, it is no spectator."""
        self.spectators.show()  # so that the session is not sent these moves twice
        hello, names = session.hello, [each.skeleton for each in self.seats]
        analysis = not preview and session.skeleton not in names
        audience = Audience(hello.legal_actions, hello.views, analysis)
        self.spectators.add(session, audience, preview=preview)
        session.watching.add(self.match.id)
        self._rooms.recount(self, now)

    def unwatch(self, session: Session, now: float) -> None:
        """Stop sending the match to a session."""
        self.spectators.remove(session)
        session.watching.discard(self.match.id)
        self._rooms.recount(self, now)

    def send_spectator_count(self) -> None:
        """Send the number of spectators, if it has changed."""
        self.spectators.send_count(self.match.id, self.seats)

    # Messages.

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
            moves=match.position.moves,
            state=match.state,
            to_move=match.to_move,
            legal_actions=self._view.legal_actions() if hello.legal_actions else None,
            board=self._view.board() if views else None,
            view=self._view.position(match.ply) if views else None,
            legal_moves=self._view.legal_moves(match.ply) if moves else None,
            offers=self.offers.open if seat else (),
            spectators=self.spectators.count(self.seats) if views else 0,
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

    def offer_closed(self, offer: OpenOffer, how: How) -> OfferClosed:
        """The message about an offer that is open no longer."""
        return OfferClosed(
            match=self.match.id, offer=offer.offer, player=offer.player, ply=offer.ply, how=how
        )

    def send_players(
        self, message: Offered | OfferClosed, origin: Session, re: RequestId | None
    ) -> None:
        """Send a message to both players; the one to `origin` has the id of its request."""
        for session in self.seats:
            own = structs.replace(message, re=re) if session is origin else message
            self._context.send_to(session, own)

    def _send_update(self, session: Session, move: ShownMove, re: RequestId | None) -> None:
        legal = self._legal_moves(session, move.ply + 1)
        self._context.send_to(session, self._view.update(move, _audience(session), re, legal))

    def _legal_moves(self, session: Session, ply: int) -> tuple[LegalMove, ...] | None:
        """The legal moves before move number `ply`, for a player with views that makes it."""
        moves = session.has_views and self.seat_of(session) == self.match.to_move_at(ply)
        return self._view.legal_moves(ply) if moves else None

    def _ended(self) -> Ended:
        assert self.match.result
        return Ended(match=self.match.id, state=self.match.state, **vars(self.match.result))

    # Records and log lines.

    def _move_record(self, ply: int, now: float, info: Analysis | None) -> MovePlayed:
        match = self.match
        return MovePlayed(
            match=match.id,
            ply=ply,
            seat=match.mover(ply),
            action=match.position.moves[ply],
            clocks=match.clock_states(now),
            info=info,
            at=now + self._context.epoch,
        )

    def _log(self, text: str, **more: object) -> None:
        match = self.match
        fields: dict[str, object] = {
            "match": match.id,
            "game": str(match.game),
            "first": match.players[0],
            "second": match.players[1],
            "clock": match.clock_name,
            "plies": match.ply,
        }
        if match.result:
            fields |= {"result": match.result.text, "reason": match.result.reason.value}
        self._context.log(text, fields | more)


def started_record(
    match: Match,
    seats: tuple[Session, Session],
    at: float,
    *,
    tournament: str | None = None,
    fixture: str | None = None,
    bots: tuple[str | None, str | None] = (None, None),
    ladder: LadderMatch | None = None,
    core_speed: float | None = None,
) -> MatchStarted:
    """The record of the start of a match, after its opening; `at` in seconds since 1970."""
    first, second = seats
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
        opening=match.opening_plies,
        max_plies=match.terms.max_plies,
        tournament=tournament,
        fixture=fixture,
        bots=bots,
        ladder=ladder,
        core_speed=core_speed,
        at=at,
    )


def _weakly(method: Callable[[T], None]) -> Callable[[T], None]:
    """Return a function that calls a method and does not keep its object.

    Without a cycle of references, an ended match is freed at once: the garbage collector rarely
    visits old objects.
    """
    reference = weakref.WeakMethod(method)

    def call(given: T) -> None:
        kept = reference()
        assert kept is not None
        kept(given)

    return call


def _audience(player: Session) -> Audience:
    """What a player is sent of each position: never the opponent's analysis."""
    return Audience(player.hello.legal_actions, player.has_views, analysis=False)
