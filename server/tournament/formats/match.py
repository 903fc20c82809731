"""Match: two entrants meet a given number of times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from playout.ratings.pairs import Pair, PairScores
from playout.server.tournament.format import Format, encounter, swapped


class MatchFormat(Format):
    """The two meet `rounds` times, with one pair for each game and a new opening each time."""

    only_two = True
    is_fixed = True
    depends_on_results = False

    @classmethod
    def most_known(cls, entrants: int, games: int, rounds: int) -> int:
        """A pair for each game and round."""
        return games * rounds

    def schedule(self, results: PairScores, withdrawn: Sequence[int]) -> Iterator[Pair]:
        return self._rounds(0, self.rounds)

    def _rounds(self, first: int, end: int) -> Iterator[Pair]:
        """Return the pairs of the rounds from `first`, counted from 0, up to but not `end`."""
        return (
            pair
            for again in range(first, end)
            for pair in encounter(self.games, (again + 1, 1), swapped((0, 1), again), again)
        )
