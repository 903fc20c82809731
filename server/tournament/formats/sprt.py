"""SPRT: two entrants meet until a sequential test of their strength is decided."""

from __future__ import annotations

from server.tournament.formats.match import MatchFormat
from server.tournament.pairs import CountRange, PairScores

#: Without a limit of rounds, this is how many become known at once.
AHEAD = 64


class Sequential(MatchFormat):
    """A match until the test is decided, of at most `rounds` rounds; 0: without limit.

    Without limit, there are as many pairs as results, and enough beyond for the concurrency.
    """

    has_test = True
    is_fixed = False
    least_rounds = 0

    def knows_more(self, known: int, results: PairScores) -> bool:
        """Whether the next rounds have become known; never, if their number is limited."""
        return known < self._known_rounds(results) * len(self.games)

    def pair_count(self) -> CountRange:
        """From one pair to all of `rounds`, or without limit."""
        return CountRange(1, self.rounds * len(self.games) or None)

    def _known_rounds(self, results: PairScores) -> int:
        if self.rounds:
            return self.rounds
        needed = len(results) // len(self.games) + max(AHEAD // 2, 2 * self.concurrency)
        return AHEAD * (1 + needed // AHEAD)
