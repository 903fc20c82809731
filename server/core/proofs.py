"""Proofs: a match of a tournament ends as soon as an analyst has proven its result.

Each position of a match with `MatchRoom.proofs` is searched, when its last move is stored, by one
analyst for all of these matches. While it works, only the matches that wait are kept: the position
is the latest one when its turn comes.
"""

from __future__ import annotations

import contextlib

from playout.commands.restarts import BackOff, Restarts
from playout.protocol.analyst import AnalysisReport, ProofOrder
from playout.protocol.messages import Notice
from playout.server.core.effects import StartAnalysis
from playout.server.core.handlers.tournaments import Tournaments
from playout.server.core.match import Refused
from playout.server.core.match_room import FeatureContext, MatchRoom, TurnBegan

#: Seconds for which a position is searched.
SEARCH_S = 0.05
_BACK_OFF = BackOff(first_s=0.5, longest_s=30.0)


class Proofs:
    """Passes positions of tournaments to an analyst, and ends the matches that are decided."""

    def __init__(self, context: FeatureContext, tournaments: Tournaments) -> None:
        self._context = context
        self._tournaments = tournaments
        #: The ids of the matches whose position is to be searched, in the order of their moves.
        self._waiting: dict[str, None] = {}
        #: The match whose position is being searched, and the order.
        self._searched: tuple[MatchRoom, ProofOrder] | None = None
        self._restarts = Restarts(_BACK_OFF)
        self._timer = context.timers.new(self._start_next)
        #: The last error of an analyst, which may repeat for every position.
        self._error = ""

    def turn_began(self, event: TurnBegan, now: float) -> None:
        """Have the new position of a match searched."""
        if event.room.proofs:
            self._waiting[event.room.match.id] = None
            self._start_next(now)

    def reported(self, report: AnalysisReport, now: float) -> None:
        """End a match whose result is proven, and go on with the next one."""
        if self._searched is None or report.analysis != self._searched[1].analysis:
            return
        room, order = self._searched
        self._searched = None
        if report.error:
            self._failed(room, report.error, now)
        else:
            self._restarts.succeeded()
        if report.winner is not None:
            with contextlib.suppress(Refused):  # the match has gone on, or has ended
                room.adjudicate(len(order.moves), report.winner, now)
        self._start_next(now)

    def _start_next(self, now: float) -> None:
        while self._waiting and self._searched is None and self._restarts.is_due(now):
            match_id = next(iter(self._waiting))
            del self._waiting[match_id]
            if room := self._context.rooms.running.get(match_id):
                match = room.match
                moves = match.position.moves
                order = ProofOrder(self._context.new_id(), str(match.game), moves, SEARCH_S)
                self._searched = room, order
                self._context.do(StartAnalysis(order))

    def _failed(self, room: MatchRoom, error: str, now: float) -> None:
        """Have the match searched again after a pause, and send a new error to the watchers."""
        self._waiting[room.match.id] = None
        self._timer.set(now + self._restarts.failed(now))
        if error != self._error:
            self._error = error
            text = f"the result of match {room.match.id} cannot be proven: {error}"
            self._context.log("{text}", {"text": text})
            if room.record.tournament:
                notice = Notice(code="proof_failed", text=text)
                self._tournaments.notify(room.record.tournament, notice)
