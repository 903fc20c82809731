"""Pairs of matches with colours swapped: the opening of both, their scores and their number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from playout.games import BoardView

#: The rank of a pair in the schedule: its round, its board (the place of a pairing in the round)
#: and its number there, each from 1. Schedule order is the order of these.
Key = tuple[int, int, int]


class Pair(NamedTuple):
    """Two matches between two entrants, from the same opening with colours swapped.

    `entrants` are places in the specification's list; the first has the first move in the first of
    the two matches. `game` is a name with parameters, `opening` a number in that game's book of
    openings, from 0; after the last opening the book starts again.
    """

    key: Key
    game: str
    entrants: tuple[int, int]
    opening: int


class PairScore(NamedTuple):
    """The points of `entrants[0]` of a pair in its two matches: 1 a win, 0.5 a tie, 0 a loss."""

    first: float
    second: float

    @property
    def total(self) -> float:
        """The points of both matches together, 0 to 2."""
        return self.first + self.second

    def share_without_luck(self, luck: float) -> float:
        """The share of the points, less the `luck` of `entrants[0]` in both matches, in points."""
        return (self.total - luck) / 2


#: The scores of the complete pairs. A voided pair is missing until it was played again.
PairScores = Mapping[Key, PairScore]


class CountRange(NamedTuple):
    """A number between two bounds, both included; `most` is None without an upper bound.

    As text: `12`, `12 to 20`, `12 or more`.
    """

    least: int
    most: int | None

    def times(self, factor: int) -> CountRange:
        """Both bounds multiplied by the factor."""
        return CountRange(self.least * factor, None if self.most is None else self.most * factor)

    def __str__(self) -> str:
        if self.most is None:
            return f"{self.least} or more"
        return str(self.least) if self.least == self.most else f"{self.least} to {self.most}"


Opening = tuple[int, ...]


class OpeningError(ValueError):
    """No usable opening exists; the message has the game and the reason."""


def central_cells(view: BoardView, near: int) -> set[int]:
    """Return the cells at most `near` rows and columns from the centre of a board."""
    return {
        cell
        for cell in range(len(view.cells))
        if abs(2 * (cell // view.columns) - view.rows + 1) <= 2 * near
        and abs(2 * (cell % view.columns) - view.columns + 1) <= 2 * near
    }
