"""Rows of pieces on a board, as views show them at the end of a match. Searches do not use this."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

#: Right, down, and the two diagonals, as rows and columns.
_DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))


def rows_of_pieces(
    cells: Sequence[int], columns: int, owner: int, least: int, most: int | None = None
) -> tuple[int, ...]:
    """Return the cells of all rows of `least` or more pieces of a player, in ascending order.

    Longer rows than `most` do not count. `cells` are counted row by row.
    """
    found = set[int]()
    for cell in range(len(cells)):
        for step in _DIRECTIONS:
            line = tuple(_line(cells, columns, owner, cell, step))
            before = _next(cells, columns, cell, (-step[0], -step[1]))
            is_whole = before is None or cells[before] != owner
            if is_whole and least <= len(line) <= (most or len(cells)):
                found.update(line)
    return tuple(sorted(found))


def _line(
    cells: Sequence[int], columns: int, owner: int, cell: int | None, step: tuple[int, int]
) -> Iterator[int]:
    """Yield the pieces of a player from a cell on in one direction."""
    while cell is not None and cells[cell] == owner:
        yield cell
        cell = _next(cells, columns, cell, step)


def _next(cells: Sequence[int], columns: int, cell: int, step: tuple[int, int]) -> int | None:
    """Return the next cell in a direction, None beyond the edge."""
    row, column = cell // columns + step[0], cell % columns + step[1]
    inside = 0 <= row < len(cells) // columns and 0 <= column < columns
    return row * columns + column if inside else None
