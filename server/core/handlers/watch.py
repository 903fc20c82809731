"""Watching matches as a spectator."""

from __future__ import annotations

from server.core.context import Context
from server.core.dispatch import handles
from server.core.rooms import Rooms
from server.core.sessions import RequestContext
from server.model.messages import Ok, Unwatch, Watch


class WatchMatches:
    """Lets sessions watch matches in which they do not play."""

    def __init__(self, context: Context, rooms: Rooms) -> None:
        self._context = context
        self._rooms = rooms

    @handles(Watch)
    def watch(self, request: Watch, origin: RequestContext) -> None:
        """Send a match: its position now, then every move."""
        room, session = self._rooms.get(request.match), origin.session
        if room.seat_of(session) is None:
            self._rooms.watch(room, session, origin.now, preview=request.preview)
        self._context.tell(session, room.started(session, origin.now, request.id))

    @handles(Unwatch)
    def unwatch(self, request: Unwatch, origin: RequestContext) -> None:
        """Stop sending a match to a session."""
        self._rooms.unwatch(request.match, origin.session, origin.now)
        self._context.tell(origin.session, Ok(re=request.id))
