"""What administrators may do to matches and sessions."""

from __future__ import annotations

from playout.protocol.messages import Adjudicate, Code, Kick, Ok
from playout.protocol.names import skeleton
from playout.server.core.context import Context
from playout.server.core.match import Refused
from playout.server.core.rooms import Rooms
from playout.server.core.session_manager import SessionManager
from playout.server.core.sessions import RequestContext, handles


class Administration:
    """Ends matches and sessions at an administrator's request."""

    def __init__(self, context: Context, rooms: Rooms, sessions: SessionManager) -> None:
        self._context = context
        self._rooms = rooms
        self._sessions = sessions

    @handles(Adjudicate)
    def adjudicate(self, request: Adjudicate, origin: RequestContext) -> None:
        """End a match of a tournament with its proven result."""
        room = self._rooms.get(request.match)
        if room.record.tournament is None:
            text = f"match {request.match} belongs to no tournament"
            raise Refused(Code.NOT_ALLOWED, text)
        room.adjudicate(request.ply, request.winner, origin.now)
        self._context.send_to(origin.session, Ok(re=request.id))

    @handles(Kick)
    def kick(self, request: Kick, origin: RequestContext) -> None:
        """End all sessions of a name."""
        text = request.text or "an administrator has ended your session"
        sessions = self._sessions.registry.like(skeleton(request.name))
        if not sessions:
            raise Refused(Code.INVALID, f"no session is named {request.name!r}")
        self._context.send_to(origin.session, Ok(re=request.id))
        for session in sessions:
            self._sessions.kick(session, text, origin.now)
