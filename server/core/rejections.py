"""Ends what a record was about that can never be stored, so that everything else goes on.

Every value that a client or an operator can choose has bounds that all databases can hold. So this
is for what was overlooked, and for games of third parties.
"""

from __future__ import annotations

from msgspec import structs

from playout.protocol.messages import Ended, Event, Reason, TakenBack, Update
from playout.server.core.accounts import Directory
from playout.server.core.context import Context
from playout.server.core.handlers.tournament_director import TournamentDirector
from playout.server.core.rooms import Rooms
from playout.server.core.session_manager import SessionManager
from playout.server.model.records import (
    NOT_STORED,
    Account,
    EntrantWithdrawn,
    MatchEnded,
    MatchStarted,
    MovePlayed,
    MovesTakenBack,
    Record,
    SeatTakenOver,
    TournamentCreated,
)

#: How often a pair of a tournament is played before a move that cannot be stored ends it all: bots
#: that play the same again would fail again.
_ATTEMPTS = 3


class Rejections:
    """Ends the match, the tournament or the sessions that lack a record."""

    def __init__(
        self,
        context: Context,
        accounts: Directory,
        sessions: SessionManager,
        rooms: Rooms,
        director: TournamentDirector,
    ) -> None:
        self._context = context
        self._accounts = accounts
        self._sessions = sessions
        self._rooms = rooms
        self._director = director

    def rejected(self, record: Record, now: float) -> None:
        """Go on without a record, which the database cannot hold."""
        match record:
            case Account():
                self._forget(record, now)
            case TournamentCreated() | EntrantWithdrawn():
                self._director.end_unstored(record.tournament, now)
            case MatchStarted() | MovePlayed() | MovesTakenBack() | SeatTakenOver() | MatchEnded():
                self._end_match(record, now)

    def _forget(self, account: Account, now: float) -> None:
        if self._accounts.get(account.id):
            self._accounts.remove(account)
        for session in list(self._sessions.registry.sessions.values()):
            if session.is_of(account):
                self._sessions.kick(session, f"your account cannot be used: {NOT_STORED}", now)

    def _end_match(
        self,
        record: MatchStarted | MovePlayed | MovesTakenBack | SeatTakenOver | MatchEnded,
        now: float,
    ) -> None:
        """End a match without result; nothing is announced that is not stored of it."""
        match_id = record.match
        ply = record.ply if isinstance(record, MovePlayed) else None

        def corrected(message: Event) -> Event | None:
            if isinstance(message, Update) and message.match == match_id:
                return message if ply is None or message.ply < ply else None
            if isinstance(message, TakenBack) and message.match == match_id:
                return None
            if isinstance(message, Ended) and message.match == match_id:
                return _without_result(message)
            return message

        self._context.revise(corrected)
        fixture = self._director.fixture_of(match_id)
        room = self._rooms.running.get(match_id)
        # No other attempt is of use if its result counts already, or if it cannot even be started.
        hopeless = room is None or isinstance(record, MatchStarted)
        if fixture and (hopeless or fixture.attempt >= _ATTEMPTS):
            self._director.end_unstored(fixture.tournament, now)
        elif room:
            if ply is not None:
                room.spectators.drop_moves(ply)
            room.abort(NOT_STORED, now)


def _without_result(ended: Ended) -> Ended:
    return structs.replace(
        ended, winner=0, returns=(0.0, 0.0), reason=Reason.ABORTED, text=NOT_STORED
    )
