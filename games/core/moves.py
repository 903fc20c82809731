"""Actions that move a piece of a grid by a step: their numbers, cells and symmetries.

A step is a number of rows down and of columns to the right, and the action of a step from a cell is
`(cell * len(steps) + step) * kinds + kind`. Steps that leave the grid have numbers too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from playout.games.core.symmetries import Symmetry, of_grid

Step = tuple[int, int]


def cells_of_moves(
    rows: int, columns: int, steps: Sequence[Step], *, kinds: int = 1
) -> tuple[tuple[int, ...], ...]:
    """Return for each action the cells from which and to which it leads, () outside of the grid."""

    def cells() -> Iterator[tuple[int, ...]]:
        for row in range(rows):
            for column in range(columns):
                for down, right in steps:
                    inside = 0 <= row + down < rows and 0 <= column + right < columns
                    begin = row * columns + column
                    yield (begin, begin + down * columns + right) if inside else ()

    return tuple(each for each in cells() for _ in range(kinds))


def symmetries_of_moves(
    rows: int, columns: int, steps: Sequence[Step], *, kinds: int = 1
) -> tuple[Symmetry, ...]:
    """Return the rotations and reflections that map the steps to each other, the identity first."""
    found = []
    for cells in of_grid(rows, columns):
        down, right = _units(cells, rows, columns)
        turned = [(r * down[0] + c * right[0], r * down[1] + c * right[1]) for r, c in steps]
        if set(turned) == set(steps):
            actions = tuple(
                (cells[cell] * len(steps) + steps.index(step)) * kinds + kind
                for cell in range(rows * columns)
                for step in turned
                for kind in range(kinds)
            )
            found.append(Symmetry(cells, actions))
    return tuple(found)


def _units(cells: tuple[int, ...], rows: int, columns: int) -> tuple[Step, Step]:
    """Return the steps that a step down and a step to the right become when the cells are moved."""
    row, column = divmod(cells[0], columns)
    below = divmod(cells[columns], columns) if rows > 1 else (row + 1, column)
    beside = divmod(cells[1], columns) if columns > 1 else (row, column + 1)
    return (below[0] - row, below[1] - column), (beside[0] - row, beside[1] - column)
