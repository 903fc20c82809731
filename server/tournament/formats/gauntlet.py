"""Gauntlet: the first entrant plays all others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from playout.ratings.pairs import Pair, PairScores
from playout.server.tournament.format import Format, encounter, swapped


class Gauntlet(Format):
    """Entrant 0 meets each other entrant `rounds` times, with one pair for each game.

    In each round it meets all others, and all pairs of a round have the same opening. It meets late
    entrants as often as all others.
    """

    takes_late_entrants = True

    is_fixed = True
    depends_on_results = False

    @classmethod
    def most_known(cls, entrants: int, games: int, rounds: int) -> int:
        """A pair for each other entrant, game and round."""
        return (entrants - 1) * games * rounds

    def processes(self) -> list[int]:
        """As in any format, but entrant 0 plays in every match."""
        return [self.concurrency, *super().processes()[1:]]

    def head_to_heads(self) -> list[tuple[int, int]]:
        """Entrant 0 with each other entrant."""
        return [(0, other) for other in range(1, self.entrants)]

    def schedule(self, results: PairScores, withdrawn: Sequence[int]) -> Iterator[Pair]:
        return (
            pair
            for again in range(self.rounds)
            for other in range(1, self.entrants)
            for pair in encounter(
                self.games,
                (again + 1, other),
                swapped((0, other), again + other + 1),
                opening=again,
            )
        )
