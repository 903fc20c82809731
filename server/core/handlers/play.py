"""Requests about a match: playing, offers, watching it, ending it, taking over a seat."""

from __future__ import annotations

from msgspec import structs

from playout.protocol.messages import (
    Abort,
    Adjudicate,
    AnswerOffer,
    Code,
    Move,
    Offer,
    Offered,
    Ok,
    OpenOffer,
    Reason,
    RequestId,
    Resign,
    Seat,
    TakeOver,
    Unwatch,
    Watch,
    WithdrawOffer,
)
from playout.protocol.tournament_spec import without_folders
from playout.server.core.match import Refused
from playout.server.core.match_room import FeatureContext, MatchRoom
from playout.server.core.session_manager import SessionManager
from playout.server.core.sessions import RequestContext, handles


class Play:
    """Handles requests about matches that are being played."""

    def __init__(self, context: FeatureContext, sessions: SessionManager) -> None:
        self._context = context
        self._rooms = context.rooms
        self._sessions = sessions

    @handles(Move)
    def move(self, request: Move, origin: RequestContext) -> None:
        """Make a move; the answer is the update that both players are sent."""
        room, seat = self._rooms.played_by(request.match, origin.session)
        try:
            if room.move(seat, request, origin.now, origin.lag_s):
                origin.connection.bucket.give_back()
        except Refused as refused:
            # The answer is sent before its consequences: the match may be lost.
            self._context.decline(origin.connection.number, refused, request.id)
            room.settle(origin.now)

    @handles(Resign)
    def resign(self, request: Resign, origin: RequestContext) -> None:
        """End a match as lost for the session that resigns."""
        room, seat = self._rooms.played_by(request.match, origin.session)
        if request.crash is None:
            room.resign(seat, origin.now)
        else:
            # The error of a program is public, and may name files of its machine.
            room.crash(seat, without_folders(request.crash), origin.now)
        if request.id is not None:
            self._context.send_to(origin.session, Ok(re=request.id))

    @handles(Abort)
    def abort(self, request: Abort, origin: RequestContext) -> None:
        """End a match without result: a player before its first move, an administrator always."""
        if origin.session.is_administrators:
            room, reason = self._rooms.get(request.match), Reason.ADMINISTRATOR
            text = request.text or "ended by an administrator"
            fields = {"match": request.match, "by": origin.session.name}
            self._context.log("{by} ends match {match}", fields)
        else:
            room, seat = self._rooms.played_by(request.match, origin.session)
            _require_abortable(room, seat)
            reason, text = Reason.ABORTED, f"{room.match.players[seat - 1]} aborted the match"
        room.abort(text, origin.now, reason)
        self._context.send_to(origin.session, Ok(re=request.id))

    @handles(Adjudicate)
    def adjudicate(self, request: Adjudicate, origin: RequestContext) -> None:
        """End a match of a tournament with its proven result, at an administrator's request."""
        room = self._rooms.get(request.match)
        if room.record.tournament is None:
            text = f"match {request.match} belongs to no tournament"
            raise Refused(Code.NOT_ALLOWED, text)
        room.adjudicate(request.ply, request.winner, origin.now)
        self._context.send_to(origin.session, Ok(re=request.id))

    # Offers of players to each other.

    @handles(Offer)
    def offer(self, request: Offer, origin: RequestContext) -> None:
        """Send both players an offer; the second offer of a draw ends the match."""
        room, seat = self._rooms.played_by(request.match, origin.session)
        room.offers.require_allowed(seat, request.offer, request.ply)
        if request.offer == "draw" and room.offers.of_opponent(seat, "draw"):
            self._agree_on_draw(room, origin, request.id)
            return
        lead = room.match.lead_without(request.dead) if request.offer == "score" else None
        made = room.offers.make(OpenOffer(request.offer, seat, request.ply, request.dead, lead))
        offered = Offered(match=request.match, **structs.asdict(made))
        room.send_players(offered, origin.session, request.id)

    @handles(AnswerOffer)
    def answer(self, request: AnswerOffer, origin: RequestContext) -> None:
        """Carry out an offer, or send both players that it was declined."""
        room, seat = self._rooms.played_by(request.match, origin.session)
        offer = room.offers.answered(seat, request.offer, request.ply)
        if not request.accept:
            room.send_players(room.offer_closed(offer, "declined"), origin.session, request.id)
        elif offer.offer == "draw":
            self._agree_on_draw(room, origin, request.id)
        elif offer.lead is not None:
            room.agree_on_score(offer.lead, origin.now)
            self._answer(origin, request.id)
        else:
            room.take_back(offer.player, origin.now, origin.session, request.id)

    @handles(WithdrawOffer)
    def withdraw(self, request: WithdrawOffer, origin: RequestContext) -> None:
        """Send both players that an offer was withdrawn."""
        room, seat = self._rooms.played_by(request.match, origin.session)
        closed = room.offer_closed(room.offers.withdrawn(seat), "withdrawn")
        room.send_players(closed, origin.session, request.id)

    def _agree_on_draw(self, room: MatchRoom, origin: RequestContext, re: RequestId | None) -> None:
        room.agree_on_draw(origin.now)
        self._answer(origin, re)

    def _answer(self, origin: RequestContext, re: RequestId | None) -> None:
        if re is not None:
            self._context.send_to(origin.session, Ok(re=re))

    # Taking over a seat.

    @handles(TakeOver)
    def take_over(self, request: TakeOver, origin: RequestContext) -> None:
        """Continue a match that another session of the same account has left."""
        room, session, now = self._rooms.get(request.match), origin.session, origin.now
        if not room.seat_of(session):
            seat = self._abandoned_seat(room, origin)
            # The match stays within the account, so only the session's own limit counts.
            most, playing = self._context.policy.matches_per_session, len(session.matches)
            if 0 < most <= playing:
                text = f"a session may have {most} matches at once, and you play {playing} already"
                raise Refused(Code.TOO_MANY, text)
            self._sessions.reseat(room, seat, session, now)
        self._context.send_to(session, room.started(session, now, request.id))

    def _abandoned_seat(self, room: MatchRoom, origin: RequestContext) -> Seat:
        """The seat of the account whose session was away for the required time. Raises Refused."""
        account = origin.session.account
        owner = next((each for each in room.seats if each.is_of(account)), None)
        seat = room.seat_of(owner) if owner else None
        if owner is None or seat is None:
            text = f"no session of your account plays match {room.match.id}"
            raise Refused(Code.NOT_YOUR_MATCH, text)
        if owner.connection is not None:
            raise Refused(Code.NOT_AWAY, "the session that plays this match is connected")
        wait_s = owner.left_at + self._context.policy.take_over_after_s - origin.now
        if wait_s > 0:
            text = f"the session that plays this match may still come back, for {wait_s:.1f} s"
            raise Refused(Code.NOT_AWAY, text, wait_s)
        return seat

    # Spectators.

    @handles(Watch)
    def watch(self, request: Watch, origin: RequestContext) -> None:
        """Send a match: its position now, then every move."""
        room, session = self._rooms.get(request.match), origin.session
        if room.seat_of(session) is None:
            room.watch(session, origin.now, preview=request.preview)
        self._context.send_to(session, room.started(session, origin.now, request.id))
        room.send_absences(session, origin.now)

    @handles(Unwatch)
    def unwatch(self, request: Unwatch, origin: RequestContext) -> None:
        """Stop sending a match to a session."""
        self._rooms.get(request.match).unwatch(origin.session, origin.now)
        self._context.send_to(origin.session, Ok(re=request.id))


def _require_abortable(room: MatchRoom, seat: Seat) -> None:
    """Raise Refused unless a player may end the match without result."""
    if room.is_assigned:
        text = "a match of a tournament or a ladder can only be resigned"
        raise Refused(Code.NOT_ALLOWED, text)
    if room.match.has_moved(seat):
        text = f"you have moved in match {room.match.id}, and can only resign"
        raise Refused(Code.NOT_ALLOWED, text)
