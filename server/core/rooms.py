"""The matches that are being played: begun, moved, shown to spectators, and ended."""

from __future__ import annotations

from collections import OrderedDict, deque
from functools import partial

from msgspec import structs

from playout.protocol.messages import (
    Code,
    Ended,
    OfferClosed,
    Offered,
    Reason,
    RequestId,
    Seat,
    SpectatorCount,
)
from playout.server.core.context import Context
from playout.server.core.effects import CallWhenIdle
from playout.server.core.events import MatchOver
from playout.server.core.match import Match, Refused, Status
from playout.server.core.match_room import MatchRoom
from playout.server.core.sessions import Session
from playout.server.model.records import MovePlayed, SeatTakenOver

#: Matches that have ended and are still told from unknown ones.
ENDED_KEPT = 1000

#: Why a match of a tournament has no result whose players lost their connections together.
_DESERTED = "both players were disconnected"

#: Moves that spectators are sent in one go: each takes a third of a millisecond to draw.
_MOVES_AT_ONCE = 4

#: Seconds in which changes of the number of spectators are collected.
_COUNT_S = 2.0


class Rooms:
    """The rooms of all matches that are being played."""

    def __init__(self, context: Context) -> None:
        self.running: dict[str, MatchRoom] = {}
        self._context = context
        self._ended: OrderedDict[str, None] = OrderedDict()
        #: Rooms that stand still, each with the record that has to be stored first.
        self._waiting: deque[tuple[int, MatchRoom]] = deque()
        #: Rooms with moves that spectators have not been sent.
        self._unshown: deque[MatchRoom] = deque()
        #: Rooms whose number of spectators may have changed.
        self._recounted: dict[str, MatchRoom] = {}
        self._count_timer = context.timers.new(self._tell_counts)

    def get(self, match_id: str) -> MatchRoom:
        """The room of a match that is being played. Raises Refused."""
        if room := self.running.get(match_id):
            return room
        if match_id in self._ended:
            raise Refused(Code.MATCH_OVER, f"match {match_id} is over")
        raise Refused(Code.UNKNOWN_MATCH, f"there is no match {match_id!r}")

    def played_by(self, match_id: str, session: Session) -> tuple[MatchRoom, Seat]:
        """The room of a running match that a session plays, and its seat. Raises Refused."""
        room = self.get(match_id)
        seat = room.seat_of(session)
        if seat is None:
            raise Refused(Code.NOT_YOUR_MATCH, f"you do not play in match {match_id}")
        return room, seat

    def begin(self, room: MatchRoom, now: float) -> None:
        """Start the match of a new room."""
        context, match, at = self._context, room.match, now + self._context.epoch
        self._add(room)
        room.started_at = at
        match.start(now)
        context.store(room.started_record(at))
        for ply in range(match.ply):
            context.store(room.move_record(ply, now, None, at))
        self._await_storage(room)
        text = "match {match} started: {game}, {first} against {second}, clock {clock}"
        context.log(text, _log_fields(match))
        for session in room.seats:
            context.tell(session, room.started(session, now))
        self.settle(room, now)

    def restore(self, room: MatchRoom, now: float) -> None:
        """Go on with a match from before the server was started, after the grace period."""
        self._add(room)
        room.match.resume(now + self._context.policy.restart_grace_s)
        self._context.log("match {match} goes on at ply {plies}", _log_fields(room.match))
        self.settle(room, now)

    def restore_ended(self, room: MatchRoom, ended_at: float) -> None:
        """Note a match that had ended before the server was started; its players may ask."""
        self._note_result(room, room.ended(), ended_at)
        self._ended[room.match.id] = None

    def reseat(self, room: MatchRoom, seat: Seat, session: Session) -> None:
        """Give a seat to another session of the same account."""
        before, match_id = room.seats[seat - 1], room.match.id
        room.reseat(seat, session)
        session.matches.add(match_id)
        before.matches.discard(match_id)
        self._context.store(SeatTakenOver(match=match_id, seat=seat, session=session.key))

    def moved(self, room: MatchRoom, record: MovePlayed, now: float) -> None:
        """Store a move; no clock runs until it is stored and announced."""
        self._context.store(record)
        self._await_storage(room)
        room.show_later(record.ply, now, record.info, self._context.records)

    def close_offers(self, room: MatchRoom, seat: Seat) -> None:
        """Tell the players which offers a move of `seat` has closed."""
        for offer, how in room.offers.moved(seat):
            self._context.tell_all(room.seats, room.offer_closed(offer, how))

    def take_back(self, room: MatchRoom, seat: Seat, now: float) -> None:
        """Take moves back to before the last one of `seat`; no clock runs until that is stored."""
        self.show_moves(room)
        ply = room.offers.first_taken_back(seat)
        assert ply is not None
        room.match.take_back(ply, now)
        room.offers.taken_back(seat)
        room.view.moves_taken_back()
        self._context.store(room.takeback_record(now + self._context.epoch))
        self._await_storage(room)

    def tell_players(
        self,
        room: MatchRoom,
        message: Offered | OfferClosed,
        origin: Session,
        re: RequestId | None,
    ) -> None:
        """Send a message to both players; the one for `origin` has the id of its request."""
        for session in room.seats:
            own = structs.replace(message, re=re) if session is origin else message
            self._context.tell(session, own)

    def settle(self, room: MatchRoom, now: float) -> None:
        """After any change of a match: set the timer of its clock, or announce its end."""
        context, match = self._context, room.match
        if fault := room.view.take_fault():
            text = "match {match} is not drawn: the view of {game} fails, with {fault}"
            context.log(text, _log_fields(match) | {"fault": fault})
        if match.status is not Status.ENDED:
            assert room.clock_timer
            room.clock_timer.set(match.deadline())
            return
        record = room.ended_record(now + context.epoch)
        context.store(record)
        ended = room.ended()
        self._note_result(room, ended, now)
        context.tell_all(room.seats, ended)
        self.show_moves(room)
        context.tell_spectators(room.watchers(), ended)
        context.log("match {match} ended after {plies} plies: {result} ({reason})",
                    _log_fields(match))  # fmt: skip
        self._remove(room)
        context.queue(MatchOver(room, record))

    def abort(
        self, room: MatchRoom, text: str, now: float, reason: Reason = Reason.ABORTED
    ) -> None:
        """End a match without result; nothing happens if it has ended."""
        if room.match.status is not Status.ENDED:
            room.match.abort(text, reason)
            self.settle(room, now)

    # After records were stored.

    def committed(self, number: int, now: float) -> None:
        """Go on with the rooms that waited for the records up to `number`."""
        while self._waiting and self._waiting[0][0] <= number:
            awaited, room = self._waiting.popleft()
            if room.awaits == awaited and room.match.status is not Status.ENDED:
                room.match.resume(now)
                assert room.clock_timer
                room.clock_timer.set(room.match.deadline())
            if room.unshown:
                self._show_when_idle(room)

    # Spectators.

    def watch(self, room: MatchRoom, session: Session, now: float, *, preview: bool) -> None:
        """Send a match to a spectator from now on."""
        self.show_moves(room)  # so that a new spectator is not sent these moves twice
        room.watch(session, preview=preview)
        if not preview:
            room.told_count = None  # it is sent the number at once, and others are not
        self._recount(room, now)

    def unwatch(self, match_id: str, session: Session, now: float) -> None:
        """Stop sending a match to a session. Raises Refused."""
        room = self.get(match_id)
        room.unwatch(session)
        self._recount(room, now)

    def _recount(self, room: MatchRoom, now: float) -> None:
        if not self._recounted:
            self._count_timer.set(now + _COUNT_S)
        self._recounted[room.match.id] = room

    def _tell_counts(self, now: float) -> None:
        """Tell the number of spectators of each match in which it has changed."""
        recounted, self._recounted = self._recounted, {}
        for room in recounted.values():
            count = room.spectator_count
            if count != room.told_count:
                room.told_count = count
                message = SpectatorCount(match=room.match.id, spectators=count)
                self._context.tell_all([each for each in room.seats if each.hello.views], message)
                spectators = [each for each in room.spectators() if each.hello.views]
                self._context.tell_spectators(spectators, message)

    @property
    def has_unshown(self) -> bool:
        """Whether there are moves that spectators have not been sent."""
        return bool(self._unshown)

    def show_some(self) -> None:
        """Send spectators some moves of the room that has waited longest."""
        if self._unshown:
            room = self._unshown[0]
            self._show(room, _MOVES_AT_ONCE)
            if not room.unshown:
                self._unshown.popleft()

    def show_moves(self, room: MatchRoom) -> None:
        """Send the spectators of a room all moves that they have not been sent."""
        self._show(room, len(room.unshown))

    def _show(self, room: MatchRoom, most: int) -> None:
        moves, room.unshown = room.unshown[:most], room.unshown[most:]
        if moves:
            for sessions, updates in room.spectator_updates(moves):
                self._context.tell_spectators(sessions, *updates, after=moves[-1].record)

    def _show_when_idle(self, room: MatchRoom) -> None:
        if not self._unshown:
            self._context.do(CallWhenIdle())
        self._unshown.append(room)

    # The rest.

    def _add(self, room: MatchRoom) -> None:
        match_id = room.match.id
        self.running[match_id] = room
        room.clock_timer = self._context.timers.new(partial(self._flag, room))
        for session in room.seats:
            session.matches.add(match_id)

    def _remove(self, room: MatchRoom) -> None:
        match_id = room.match.id
        del self.running[match_id]
        assert room.clock_timer
        room.clock_timer.stop()
        self._recounted.pop(match_id, None)
        self._ended[match_id] = None
        if len(self._ended) > ENDED_KEPT:
            self._ended.popitem(last=False)
        for session in room.watchers():
            session.watching.discard(match_id)
        for session in room.seats:
            session.matches.discard(match_id)

    def abandon(self, room: MatchRoom, seat: Seat, now: float) -> None:
        """End a match because a player has left and did not come back."""
        if room.is_deserted:
            room.match.abort(_DESERTED)
        else:
            room.match.abandon(seat)
        self.settle(room, now)

    def _flag(self, room: MatchRoom, now: float) -> None:
        deadline = room.match.deadline()
        if deadline is not None and now >= deadline and room.is_deserted:
            room.match.abort(_DESERTED)
        else:
            room.match.flag(now)
        self.settle(room, now)

    def _await_storage(self, room: MatchRoom) -> None:
        """Hold a match until all records up to now are stored."""
        room.match.hold()
        room.awaits = self._context.records
        self._waiting.append((self._context.records, room))

    def _note_result(self, room: MatchRoom, ended: Ended, at: float) -> None:
        """Keep a result for players that may not receive it, until they come back."""
        for session in room.seats:
            session.results_since(at - self._context.policy.reconnect_s)
            session.results.append((at, ended))


def _log_fields(match: Match) -> dict[str, object]:
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
    return fields
