"""Y: connect the three sides of a triangle; with the kernels of Havannah.

Action row * size + column puts a stone, as in OpenSpiel; each row has a cell less than the one
above it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import ClassVar

from playout.games import Symmetry, checked
from playout.games.core.symmetries import Triple, of_triples
from playout.games.havannah import Havannah

MAX_SIZE = 19


class Y(Havannah):
    """Connect all three sides of a triangular board."""

    about = (
        "In turn, a player puts a stone on an empty cell of a triangular board of hexagons. The "
        "first player with a chain of connected stones that touches all three sides wins; a corner "
        "belongs to two sides. There are no ties: on a full board, one player has such a chain."
    )
    first_steps = (
        "Click an empty cell. You win with a chain that touches all three sides. Stones in the "
        "middle are worth most. Two stones with two empty cells between them that touch both are "
        "as good as connected."
    )
    variants: ClassVar = {
        "size=6": "A short match.",
        "size=19": "The largest board.",
    }
    about_parameters: ClassVar = {"size": f"cells of a side of the board, 1 to {MAX_SIZE}"}
    family = "y"

    def __init__(self, size: int = 11) -> None:
        self.size = checked("y", "size", size, 1, MAX_SIZE)
        self.set_up(size, rings=False, third=-1)

    def edges_of(self, row: int, column: int) -> int:
        if row + column >= self.size:
            return -1
        return (row == 0) + 2 * (column == 0) + 4 * (row + column == self.size - 1)

    @functools.cached_property
    def triples(self) -> Mapping[int, Triple]:
        rows = range(self.size)
        return {
            row * self.size + column: (row, column, self.size - 1 - row - column)
            for row in rows
            for column in rows[: self.size - row]
        }

    @functools.cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        return of_triples(self.triples, range(self.size**2), negated=False)

    def drawn(self, cell: int) -> int:
        return cell
