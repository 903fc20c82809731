"""SPRT: two entrants meet until a sequential test of their strength is decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from playout.ratings.pairs import CountRange, Pair, PairScores
from playout.server.tournament.formats.match import MatchFormat

#: Number of rounds that become known at the same time.
AHEAD = 64


class Sequential(MatchFormat):
    """A match until the test is decided, of at most `rounds` rounds; 0 is no limit.

    Beyond the results, enough pairs are known for the concurrency.
    """

    has_test = True
    is_fixed = False
    least_rounds = 0

    @classmethod
    def most_known(cls, entrants: int, games: int, rounds: int) -> int:
        """The number of pairs that are known at the start."""
        return games * AHEAD

    def knows_more(self, known: int, results: PairScores) -> bool:
        return known < self._known_rounds(results) * len(self.games)

    def more(self, known: int, results: PairScores) -> Iterator[Pair]:
        """The pairs of the next rounds, up to `AHEAD` beyond the results."""
        return self._rounds(known // len(self.games), self._known_rounds(results))

    def pair_count(self) -> CountRange:
        """Return a range from one pair to all of `rounds`, or without limit."""
        return CountRange(1, self.rounds * len(self.games) or None)

    def schedule(self, results: PairScores, withdrawn: Sequence[int]) -> Iterator[Pair]:
        return self._rounds(0, self._known_rounds(results))

    def _known_rounds(self, results: PairScores) -> int:
        needed = len(results) // len(self.games) + max(AHEAD // 2, 2 * self.concurrency)
        known = AHEAD * (1 + needed // AHEAD)
        return min(known, self.rounds) if self.rounds else known
