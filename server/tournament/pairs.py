"""What is played: pairs of matches, each from one opening with colours swapped; and its results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

#: The rank of a pair in the schedule: its round, its board (the place of a pairing in the round)
#: and its number there, each from 1. Schedule order is the order of these.
Key = tuple[int, int, int]


class Pair(NamedTuple):
    """Two matches between two entrants: the same opening, then with colours swapped.

    `entrants` are places in the specification's list; the first has the first move in the first of
    the two. `game` is its name with parameters, `opening` a number in that game's book of openings,
    from 0, which begins again when it is through.
    """

    key: Key
    game: str
    entrants: tuple[int, int]
    opening: int


class PairScore(NamedTuple):
    """What `entrants[0]` of a pair has got in its two matches: 1 a win, 0.5 a tie, 0 a loss."""

    first: float
    second: float

    @property
    def total(self) -> float:
        """In both together, 0 to 2."""
        return self.first + self.second


#: The pairs that are complete. Those that were voided are not among them, until played again.
Results = Mapping[Key, PairScore]
