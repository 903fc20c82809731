"""Two entrants: a match of a given length, and a sequential test."""

from __future__ import annotations

from collections.abc import Sequence

from server.tournament.formats.core import Format, encounter, swapped
from server.tournament.pairs import Pair, Results

#: When there is no end, this is how many rounds become known at once.
AHEAD = 64


class MatchFormat(Format):
    """The two meet `rounds` times, with one pair for each game; a new opening each time."""

    only_two = True

    def knows_more(self, known: int, results: Results) -> bool:
        """Unless there is no end, they do not."""
        return known < self._rounds(results) * len(self.games)

    def _schedule(self, results: Results, out: Sequence[int]) -> list[Pair]:
        return [
            pair
            for again in range(self._rounds(results))
            for pair in encounter(self.games, (again + 1, 1), swapped((0, 1), again), again)
        ]

    def _rounds(self, results: Results) -> int:
        return self.rounds


class Sequential(MatchFormat):
    """The same until the test has been decided, at most `rounds` times; 0: without end.

    Without end, the pairs are as many as there are results, and enough beyond for the concurrency.
    """

    def _rounds(self, results: Results) -> int:
        if self.rounds:
            return self.rounds
        needed = len(results) // len(self.games) + max(AHEAD // 2, 2 * self.concurrency)
        return AHEAD * (1 + needed // AHEAD)
