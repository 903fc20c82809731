"""Gauntlet: one against all others."""

from __future__ import annotations

from collections.abc import Sequence

from server.tournament.formats.core import Format, encounter, swapped
from server.tournament.pairs import Pair, Results


class Gauntlet(Format):
    """Entrant 0 meets each other `rounds` times, with one pair for each game.

    In each round it meets all, and all pairs have the same opening.
    """

    def knows_more(self, known: int, results: Results) -> bool:
        """They do not."""
        return False

    def _schedule(self, results: Results, out: Sequence[int]) -> list[Pair]:
        return [
            pair
            for again in range(self.rounds)
            for other in range(1, self.entrants)
            for pair in encounter(
                self.games,
                (again + 1, other),
                swapped((0, other), again + other + 1),
                opening=again,
            )
        ]
