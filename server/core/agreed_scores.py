"""Ends a match by the win rates that its players report, when both agree.

A player sends its win rate with a move, as `info`. The rules are those of tournament programs for
chess: a match is lost after so many hopeless moves of one player that the other sees as won, and
tied after so many moves that both see as level. A move without a win rate ends the agreement.
"""

from __future__ import annotations

from collections import deque

from playout.games import TIE
from playout.protocol.messages import Analysis, Seat
from playout.protocol.tournament_spec import Adjudication

#: The win rate of what is proven: a win, a tie, a loss.
_PROVEN = {1: 1.0, 0: 0.5, -1: 0.0}


class AgreedScores:
    """The last win rates of both players in a match, each from the player's own side."""

    def __init__(self, rules: Adjudication) -> None:
        self._rules = rules
        self._plies = 0
        longest = max(rules.resign_moves, rules.draw_moves)
        self._rates: dict[Seat, deque[float | None]] = {
            1: deque(maxlen=longest),
            2: deque(maxlen=longest),
        }

    def moved(self, seat: Seat, ply: int, info: Analysis | None) -> None:
        """Takes the analysis of move number `ply`."""
        self._plies = ply + 1
        self._rates[seat].append(_win_rate(info))

    def winner(self) -> int | None:
        """The result that both agree on: 1, 2, or -1 for a tie; None if there is none."""
        rules = self._rules
        below, within = rules.resign_below, rules.draw_within
        if self._plies >= rules.draw_after and self._agree(
            rules.draw_moves, (0.5 - within, 0.5 + within), (0.5 - within, 0.5 + within)
        ):
            return TIE
        lost, won = (0.0, below), (1.0 - below, 1.0)
        if self._agree(rules.resign_moves, won, lost):
            return 1
        return 2 if self._agree(rules.resign_moves, lost, won) else None

    def _agree(self, moves: int, first: tuple[float, float], second: tuple[float, float]) -> bool:
        """Whether the last moves of both players have win rates between these bounds."""
        bounds: dict[Seat, tuple[float, float]] = {1: first, 2: second}
        return moves > 0 and all(
            len(rates) >= moves
            and all(rate is not None and low <= rate <= high for rate in list(rates)[-moves:])
            for rates, (low, high) in ((self._rates[seat], bounds[seat]) for seat in bounds)
        )


def decides(rules: Adjudication) -> bool:
    """Whether agreed win rates end matches at all."""
    return bool(rules.resign_moves or rules.draw_moves)


def _win_rate(info: Analysis | None) -> float | None:
    if info is None:
        return None
    return info.win_rate if info.proven is None else _PROVEN[info.proven]
