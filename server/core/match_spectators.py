"""The spectators of one match: their number, and the moves to be sent to them."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator

from playout.protocol.messages import Event, SpectatorCount
from playout.server.core.context import Context
from playout.server.core.match import Match
from playout.server.core.sessions import Session
from playout.server.core.view import DELAY_PLIES, Audience, MatchView
from playout.server.model.records import MovePlayed


class MatchSpectators:
    """The sessions that watch a match.

    A session that only shows a small board of the match is no spectator: it is sent the same, and
    is not counted. While the match runs, its last `delay` moves are sent to none of them.
    """

    def __init__(self, context: Context, match: Match, view: MatchView, delay: int) -> None:
        self._context = context
        self._match = match
        self._view = view
        self._delay = delay
        self._by_audience: dict[Audience, dict[str, Session]] = {}
        #: The sessions that are counted, by key, and how many of them have each name.
        self._counted: dict[str, Session] = {}
        self._names: Counter[str] = Counter()
        #: The count that all were sent last; None if some were sent another one.
        self._sent_count: int | None = 0
        #: The moves to be sent, each with the number of the record that must be stored before.
        self._pending: list[tuple[MovePlayed, int]] = []
        #: The last moves whose analyses are not shown yet.
        self._withheld: list[MovePlayed] = []

    def __iter__(self) -> Iterator[Session]:
        return (each for sessions in self._by_audience.values() for each in sessions.values())

    def add(self, session: Session, audience: Audience, *, preview: bool) -> None:
        """Send the match to a session from now on; with `preview`, it is not counted."""
        self.remove(session)
        if not preview:
            self._counted[session.key] = session
            self._names[session.skeleton] += 1
            self._sent_count = None  # it is sent the count at once, and others are not
        self._by_audience.setdefault(audience, {})[session.key] = session

    def remove(self, session: Session) -> None:
        """Stop sending the match to a session, if it was sent."""
        for sessions in self._by_audience.values():
            sessions.pop(session.key, None)
        if self._counted.pop(session.key, None):
            self._names[session.skeleton] -= 1
            if not self._names[session.skeleton]:
                del self._names[session.skeleton]

    def count(self, players: tuple[Session, Session]) -> int:
        """The number of spectators beside the players; those of one name count once."""
        return len(self._names) - len({each.skeleton for each in players} & self._names.keys())

    def send_count(self, match: str, players: tuple[Session, Session]) -> None:
        """Send the count, if it has changed, to the players and spectators that have views."""
        count = self.count(players)
        if count != self._sent_count:
            self._sent_count = count
            message = SpectatorCount(match=match, spectators=count)
            self._context.send_to_all([each for each in players if each.hello.views], message)
            views = [each for each in self._counted.values() if each.hello.views]
            self._context.send_to_spectators(views, message)

    # Moves.

    @property
    def has_pending_moves(self) -> bool:
        """Whether there are moves to be sent now."""
        return self._due > 0

    @property
    def _due(self) -> int:
        """The number of moves to be sent now, the first pending ones."""
        if not self._delay:
            return len(self._pending)
        shown = self._match.shown_ply(self._delay)
        return bisect_left(self._pending, shown, key=lambda each: each[0].ply)

    def show_later(self, move: MovePlayed, record: int = 0) -> None:
        """Keep a move to be sent when it is stored, and its analysis to be sent later.

        `record` is the number of its record.
        """
        if self._delay or any(self._by_audience.values()):
            self._pending.append((move, record))
        elif self._withheld:
            self._take_due(move.ply)
        if move.info:
            self._withheld.append(move)

    def drop_moves(self, ply: int) -> None:
        """Never send the moves from number `ply` on, nor their analyses."""
        self._pending = [each for each in self._pending if each[0].ply < ply]
        self._withheld = [each for each in self._withheld if each.ply < ply]

    def show(self, most: int | None = None) -> None:
        """Send the moves that are to be sent now: the first `most` of them, or all.

        The analyses that are old enough follow.
        """
        count = self._due if most is None else min(most, self._due)
        pending = self._pending[:count]
        del self._pending[:count]
        if pending:
            last, record = pending[-1]
            self._send([move for move, _ in pending], self._take_due(last.ply), after=record)

    def show_all(self) -> None:
        """Send all moves and all analyses that have not been sent: the match is over."""
        moves, self._pending = [move for move, _ in self._pending], []
        analysed, self._withheld = self._withheld, []
        if moves or analysed:
            self._send(moves, analysed)

    def _take_due(self, ply: int) -> list[MovePlayed]:
        """Remove and return the moves whose analyses are shown together with move number `ply`."""
        age = max(0, DELAY_PLIES - self._delay)
        due = [each for each in self._withheld if each.ply <= ply - age]
        self._withheld = self._withheld[len(due) :]
        return due

    def _send(
        self, moves: list[MovePlayed], analysed: list[MovePlayed], after: int | None = None
    ) -> None:
        def messages(audience: Audience) -> list[Event]:
            updates = [self._view.update(each.ply, each.clocks, audience) for each in moves]
            if not audience.analysis:
                return [*updates]
            return [*updates, *(self._view.analysis(each, audience) for each in analysed)]

        self.send(messages, after=after)

    def send(
        self, messages: Callable[[Audience], list[Event]], *, after: int | None = None
    ) -> None:
        """Send messages, made once for each audience, when record number `after` is stored.

        By default they wait for the last record.
        """
        for audience, sessions in self._by_audience.items():
            if sessions and (made := messages(audience)):
                self._context.send_to_spectators(sessions.values(), *made, after=after)
