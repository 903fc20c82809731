"""Stores the moves of a match, and charges them to its players.

Each record is charged to the address and the account of its player, in bytes of the database. The
analysis of a move is stored only while these budgets have room for it, the match has not too much
analysis yet, and the database is not full; otherwise its player gets a notice. Moves are always
stored. If they overdraw a budget, the server reads nothing more from the player's connection until
the budget is balanced again: the match goes on, slower.

Matches of tournaments, which administrators create, and bots of the server have no budget.
"""

from __future__ import annotations

from playout.protocol.messages import Analysis, Notice
from playout.server.core.context import Context
from playout.server.core.effects import PauseReading
from playout.server.core.sessions import Session
from playout.server.model.records import MatchStarted, stored_analysis

# Bytes of a SQLite database, with its indexes: measured, and rounded up.
MOVE_BYTES = 75
#: A match, for each of its players, in addition to the name of its game.
MATCH_BYTES = 700
_GAME_COPIES = 4
#: A longer analysis is stored on pages of its own.
_LONG = 800
_PAGE = 4096


def analysis_bytes(info: str) -> int:
    """Maximum number of bytes that this analysis, as JSON, adds to a stored move."""
    size = len(info.encode())
    return size + size // 4 if size <= _LONG else size + _PAGE


class MatchStorage:
    """Charges the records of one match to its players, and drops analysis beyond their budgets."""

    def __init__(self, context: Context, record: MatchStarted) -> None:
        self._context = context
        self._record = record
        #: The bytes of analysis that are stored.
        self._analysis = 0
        #: The sessions that know that their analysis is dropped.
        self._notified: set[str] = set()

    def begin(self, seats: tuple[Session, Session], now: float) -> None:
        """Charge the start and the end of the match to both players."""
        for session in seats:
            self._charge(session, MATCH_BYTES + _GAME_COPIES * len(self._record.game), now)

    def restore(self, info: str | None) -> None:
        """Count the analysis of a stored move."""
        self._analysis += analysis_bytes(info) if info else 0

    def move(self, session: Session, analysis: Analysis | None, now: float) -> str | None:
        """Charge a move to its player; return its analysis as JSON if it is to be stored."""
        self._charge(session, MOVE_BYTES, now)
        if analysis is None:
            return None
        info = stored_analysis(analysis)
        if not self._context.policy.stored:
            return info
        size = analysis_bytes(info)
        if why := self._why_dropped(session, size, now):
            self._context.budget.dropped += 1
            if session.key not in self._notified:
                self._notified.add(session.key)
                text = f"the analysis of your moves is not stored at the moment: {why}"
                self._context.send_to(session, Notice(code="analysis_dropped", text=text))
            return None
        self._analysis += size
        self._charge(session, size, now)
        return info

    def _why_dropped(self, session: Session, size: int, now: float) -> str | None:
        policy, budget = self._context.policy, self._context.budget
        if budget.is_full:
            return f"the database of the server has reached its limit of {policy.database_mb:g} MB"
        if 0 < policy.analysis_mb_per_match * 1e6 < self._analysis + size:
            return f"a match may have {policy.analysis_mb_per_match:g} MB of it"
        if self._is_charged(session) and not budget.has_room(owners_of(session), size, now):
            return f"an address or account may store {policy.stored_mb_per_hour:g} MB an hour"
        return None

    def _charge(self, session: Session, size: int, now: float) -> None:
        if not self._is_charged(session):
            return
        wait_s = self._context.budget.charge(owners_of(session), size, now)
        if wait_s and session.connection is not None:
            self._context.do(PauseReading(session.connection, wait_s))

    def _is_charged(self, session: Session) -> bool:
        is_players = self._record.tournament is None and session.bot_player is None
        return is_players and self._context.policy.stored


def owners_of(session: Session) -> list[str]:
    """The owners of a session's budgets: its address, and its account if it has one."""
    account = session.account
    return [f"address {session.network}", *([f"account {account.id}"] if account else [])]
