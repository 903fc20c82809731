"""Match: two entrants meet a given number of times."""

from __future__ import annotations

from collections.abc import Sequence

from server.tournament.formats.core.format import Format, encounter, swapped
from server.tournament.pairs import Pair, PairScores


class MatchFormat(Format):
    """The two meet `rounds` times, with one pair for each game and a new opening each time."""

    only_two = True
    is_fixed = True

    def _schedule(self, results: PairScores, withdrawn: Sequence[int]) -> list[Pair]:
        return [
            pair
            for again in range(self._known_rounds(results))
            for pair in encounter(self.games, (again + 1, 1), swapped((0, 1), again), again)
        ]

    def _known_rounds(self, results: PairScores) -> int:
        return self.rounds
