"""Elo ratings that change with each result, such as those of puzzles and of their solvers."""

from __future__ import annotations

from collections.abc import Hashable

from playout.ratings.bradley_terry import AVERAGE

#: The greatest change by a result, in Elo; a rating with few results changes faster.
_CHANGE, _FIRST_CHANGE = 16.0, 64.0


class EloRatings:
    """The ratings of all that have met so far; before the first result, a rating is AVERAGE."""

    def __init__(self) -> None:
        self._ratings: dict[Hashable, float] = {}
        self._results: dict[Hashable, int] = {}

    def rating(self, one: Hashable) -> float:
        """Return the rating after all results so far."""
        return self._ratings.get(one, AVERAGE)

    def results(self, one: Hashable) -> int:
        """Return the number of results so far."""
        return self._results.get(one, 0)

    def add(self, one: Hashable, other: Hashable, score: float) -> None:
        """Add a result: 1 if `one` has won, 0 if it has lost, 0.5 for a tie."""
        difference = self.rating(one) - self.rating(other)
        beyond = score - 1 / (1 + 10 ** (-difference / 400))
        for each, gained in ((one, beyond), (other, -beyond)):
            change = max(_CHANGE, _FIRST_CHANGE / (1 + self.results(each)))
            self._ratings[each] = self.rating(each) + change * gained
            self._results[each] = self.results(each) + 1
