"""Cells of a board in the notations of protocols, and the actions of clicks on cells.

A cell is its number in a `BoardView`, row by row from the top left. In the notation of Playout, the
top left cell is a1, and i is a column.

GTP writes `A1` for the *bottom* left, and has no column I, so that J follows H. Some engines, such
as those of Othello, count rows from the top instead. Programs for Hex, Havannah and Y write `a1`
for the top left, because a board of hexagons turned over is another one, and have a column I.

Gomocup writes `x,y`, column and row, from 0 at the top left.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass

from playout.games import BoardView

GTP_COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
ALL_COLUMNS = string.ascii_uppercase

#: The games in which row 1 is the top row for other programs.
FROM_TOP = ("othello",)

_GTP_VERTEX = re.compile("([A-Z])([1-9][0-9]?)", re.IGNORECASE | re.ASCII)
_COORDINATES = re.compile(r"\s*([0-9]{1,3})\s*,\s*([0-9]{1,3})\s*", re.ASCII)


class VertexError(ValueError):
    """Raised for a text that names no cell of the board; the message says what is expected."""


@dataclass(frozen=True)
class GtpVertices:
    """The names of cells in GTP, on a board with that many rows and columns.

    `from_top`: whether the engine counts rows from the top. `has_i`: whether it has a column I.
    Raises VertexError if the board has more rows or columns than can be named.
    """

    rows: int
    columns: int
    from_top: bool = False
    has_i: bool = False

    def __post_init__(self) -> None:
        if max(self.rows, self.columns) > len(self.letters):
            raise VertexError(
                f"GTP has boards of at most {len(self.letters)} rows and columns, "
                f"not {self.rows} rows and {self.columns} columns"
            )

    def name(self, cell: int) -> str:
        """Return the vertex of a cell, in upper case."""
        row, column = divmod(cell, self.columns)
        return f"{self.letters[column]}{self._turned(row) + 1}"

    @property
    def letters(self) -> str:
        """The letters of the columns, from the left."""
        return ALL_COLUMNS if self.has_i else GTP_COLUMNS

    def cell(self, text: str) -> int:
        """Return the cell that a vertex names, in upper or lower case. Raises VertexError."""
        found = _GTP_VERTEX.fullmatch(text)
        column = self.letters.find(found[1].upper()) if found else -1
        row = int(found[2]) - 1 if found else self.rows
        if not 0 <= column < self.columns or row >= self.rows:
            last = f"{self.letters[self.columns - 1]}{self.rows}"
            hint = ", without I" if column < 0 and found and self.columns > 8 else ""
            raise VertexError(f"{text!r} is no vertex of this board: expected A1 to {last}{hint}")
        return self._turned(row) * self.columns + column

    def _turned(self, row: int) -> int:
        """Return a row counted from the other side, unless rows count from the top."""
        return row if self.from_top else self.rows - 1 - row


def coordinates(cell: int, columns: int) -> str:
    """Return the coordinates of a cell in Gomocup's protocol: `x,y`."""
    row, column = divmod(cell, columns)
    return f"{column},{row}"


def cell_at(text: str, rows: int, columns: int) -> int:
    """Return the cell at the coordinates `x,y` of Gomocup's protocol. Raises VertexError."""
    found = _COORDINATES.fullmatch(text)
    x, y = (int(found[1]), int(found[2])) if found else (columns, rows)
    if x >= columns or y >= rows:
        raise VertexError(
            f"{text!r} is no cell of this board: expected x,y from 0,0 to {columns - 1},{rows - 1}"
        )
    return y * columns + x


def has_single_clicks(view: BoardView) -> bool:
    """Return whether each legal action is a click on a different cell, or the only pass."""
    clicks = list(view.clicks.values())
    return all(len(cells) <= 1 for cells in clicks) and len({*clicks}) == len(clicks)


def cell_of(view: BoardView, action: int) -> int | None:
    """Return the cell that a player clicks for a legal action; None for a pass."""
    return next(iter(view.clicks[action]), None)


def action_at(view: BoardView, cell: int | None) -> int | None:
    """Return the legal action for a click on `cell`, or the pass if `cell` is None.

    If pieces fall, any cell of a column will do. Returns None if there is no such action.
    """
    for action in view.clicks:
        clicked = cell_of(view, action)
        if clicked == cell or (
            view.geometry == "columns"
            and clicked is not None
            and cell is not None
            and clicked % view.columns == cell % view.columns
        ):
            return action
    return None
