"""Playing a match: moves, its end by a player, and taking over a seat of one's own account."""

from __future__ import annotations

from server.core.context import Context
from server.core.dispatch import handles
from server.core.match import Refused
from server.core.match_room import MatchRoom
from server.core.rooms import Rooms
from server.core.session_manager import SessionManager
from server.core.sessions import RequestContext
from server.model.messages import Abort, Code, Move, Ok, Reason, Resign, Seat, TakeOver


class Play:
    """Handles what players send about their matches."""

    def __init__(self, context: Context, rooms: Rooms, sessions: SessionManager) -> None:
        self._context = context
        self._rooms = rooms
        self._sessions = sessions

    @handles(Move)
    def move(self, request: Move, origin: RequestContext) -> None:
        """Make a move; the update that both players are sent is the answer."""
        context, now, session = self._context, origin.now, origin.session
        room, seat = self._rooms.played_by(request.match, origin.session)
        try:
            played = room.match.play(seat, request.ply, request.action, now, origin.lag_s)
        except Refused as refused:
            # The answer comes before its consequences: the match may be lost.
            context.decline(origin.connection.number, refused, request.id)
            self._rooms.settle(room, now)
            return
        if played:
            record = room.move_record(request.ply, now, request.info, now + context.epoch)
            self._rooms.moved(room, record, now)
            room.count_score(record)
            origin.connection.bucket.give_back()
        for player, update in room.updates(request.ply, now, session, request.id):
            if played or player is session:  # a repetition is answered, and not announced again
                context.tell(player, update)
        if played:
            self._rooms.close_offers(room, seat)
        self._rooms.settle(room, now)

    @handles(Resign)
    def resign(self, request: Resign, origin: RequestContext) -> None:
        """End a match as lost for the session that resigns."""
        room, seat = self._rooms.played_by(request.match, origin.session)
        room.match.resign(seat)
        self._rooms.settle(room, origin.now)
        if request.id is not None:
            self._context.tell(origin.session, Ok(re=request.id))

    @handles(Abort)
    def abort(self, request: Abort, origin: RequestContext) -> None:
        """End a match without result: a player before its first move, an administrator always."""
        if origin.session.is_administrators:
            room, reason = self._rooms.get(request.match), Reason.ADMINISTRATOR
            text = request.text or "ended by an administrator"
        else:
            room, seat = self._rooms.played_by(request.match, origin.session)
            _require_abortable(room, seat)
            reason, text = Reason.ABORTED, f"{room.match.players[seat - 1]} aborted the match"
        self._rooms.abort(room, text, origin.now, reason)
        self._context.tell(origin.session, Ok(re=request.id))

    @handles(TakeOver)
    def take_over(self, request: TakeOver, origin: RequestContext) -> None:
        """Go on with a match that another session of the same account has left."""
        room, session, now = self._rooms.get(request.match), origin.session, origin.now
        if not room.seat_of(session):
            seat = self._abandoned_seat(room, origin)
            # The match stays within the account, so only the session's own limit counts.
            most, playing = self._context.policy.matches_per_session, len(session.matches)
            if 0 < most <= playing:
                text = f"a session may have {most} matches at once, and you play {playing} already"
                raise Refused(Code.TOO_MANY, text)
            self._sessions.reseat(room, seat, session, now)
        self._context.tell(session, room.started(session, now, request.id))

    def _abandoned_seat(self, room: MatchRoom, origin: RequestContext) -> Seat:
        """The seat of the account whose session has been gone for long enough. Raises Refused."""
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


def _require_abortable(room: MatchRoom, seat: Seat) -> None:
    """Raise Refused unless a player may end the match without result."""
    if room.is_assigned:
        text = "a match of a tournament or a ladder can only be resigned"
        raise Refused(Code.NOT_ALLOWED, text)
    if room.match.has_moved(seat):
        text = f"you have moved in match {room.match.id}, and can only resign"
        raise Refused(Code.NOT_ALLOWED, text)
