"""The rooms of all matches that are being played, and the queues in which rooms wait.

What concerns only one match is in `playout.server.core.match_room`.
"""

from __future__ import annotations

from collections import OrderedDict, deque

from playout.protocol.messages import Code, Seat
from playout.server.core.context import Context
from playout.server.core.effects import CallWhenIdle
from playout.server.core.match import Refused
from playout.server.core.match_room import GameFailed, MatchRoom
from playout.server.core.sessions import Session

#: Ended matches whose ids are remembered, to distinguish them from unknown ones.
ENDED_KEPT = 1000

#: Moves that spectators are sent at once: to draw one takes a third of a millisecond.
_MOVES_AT_ONCE = 4

#: Seconds in which changes of the number of spectators are collected.
_COUNT_S = 2.0


class Rooms:
    """The rooms of running matches by id, and the queues that they use."""

    def __init__(self, context: Context) -> None:
        self.running: dict[str, MatchRoom] = {}
        self._context = context
        self._ended: OrderedDict[str, None] = OrderedDict()
        #: Rooms whose match is held, each with the number of the record that must be stored first.
        self._held: deque[tuple[int, MatchRoom]] = deque()
        #: Rooms with stored moves that spectators have not been sent.
        self._pending: deque[MatchRoom] = deque()
        #: Rooms whose number of spectators may have changed.
        self._recounted: dict[str, MatchRoom] = {}
        self._count_timer = context.timers.new(self._send_counts)

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

    def committed(self, number: int, now: float) -> None:
        """Continue the matches that waited for the records up to `number`."""
        while self._held and self._held[0][0] <= number:
            awaited, room = self._held.popleft()
            room.stored(awaited, now)
            if room.spectators.has_pending_moves:
                if not self._pending:
                    self._context.do(CallWhenIdle())
                self._pending.append(room)

    def game_failed(self, event: GameFailed, now: float) -> None:
        """Abort a match whose game has failed."""
        event.room.abort(str(event.fault), now)

    @property
    def has_pending_moves(self) -> bool:
        """Whether there are stored moves that spectators have not been sent."""
        return bool(self._pending)

    def show_some(self) -> None:
        """Send spectators some moves of the room that has waited longest."""
        if self._pending:
            room = self._pending[0]
            room.spectators.show(_MOVES_AT_ONCE)
            if not room.spectators.has_pending_moves:
                self._pending.popleft()

    # Called by rooms.

    def add(self, room: MatchRoom) -> None:
        """Add the room of a match that begins or continues."""
        self.running[room.match.id] = room

    def remove(self, room: MatchRoom) -> None:
        """Remove the room of a match that has ended, and remember its id for a while."""
        match_id = room.match.id
        self.running.pop(match_id, None)
        self._recounted.pop(match_id, None)
        self._ended[match_id] = None
        if len(self._ended) > ENDED_KEPT:
            self._ended.popitem(last=False)

    def hold(self, room: MatchRoom, record: int) -> None:
        """Call `room.stored(record)` when the records up to number `record` are stored."""
        self._held.append((record, room))

    def recount(self, room: MatchRoom, now: float) -> None:
        """Call `room.send_spectator_count` within a few seconds."""
        if not self._recounted:
            self._count_timer.set(now + _COUNT_S)
        self._recounted[room.match.id] = room

    def _send_counts(self, now: float) -> None:
        recounted, self._recounted = self._recounted, {}
        for room in recounted.values():
            room.send_spectator_count()
