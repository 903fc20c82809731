"""What is needed to draw a position, on a page or at a terminal."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class BoardView:
    """Rows and columns of cells, and where to click.

    `cells` runs row by row from the top left: 0 is empty, otherwise the player whose piece it is
    (for pieces of nobody, as in nim, 1). `clicks` maps each legal action to the cells that a
    player clicks for it, in order: one for a placement, none for a pass.
    """

    rows: int
    columns: int
    cells: tuple[int, ...]
    clicks: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    #: grid: squares. columns: pieces fall, any cell of a column will do. heap: no coordinates.
    geometry: Literal["grid", "columns", "heap"] = "grid"
    #: What lies on the cells; a hint for drawing.
    piece: Literal["mark", "disc", "stone", "chip"] = "mark"
    #: A heavy line after every so many cells, 0 for none.
    block: int = 0
    #: Of each such block of cells, row by row: who has won it, 0 for nobody.
    blocks: tuple[int, ...] = ()
    #: What the cells do not tell, for people.
    note: str = ""

    @property
    def column_labels(self) -> tuple[str, ...]:
        """One label per column: 1, 2, ... where pieces fall, otherwise a, b, ..."""
        if self.geometry == "grid":
            return tuple(string.ascii_lowercase[: self.columns])
        return tuple(str(column + 1) for column in range(self.columns))

    @property
    def row_labels(self) -> tuple[str, ...]:
        """One label per row, from the top; empty where rows have no names."""
        return tuple(str(row + 1) if self.geometry == "grid" else "" for row in range(self.rows))


SYMBOLS = {0: ".", 1: "X", 2: "O"}


def pieces(view: BoardView) -> Iterator[tuple[str, int | None]]:
    """The cells as pieces of text, each with the cell that it shows, None for labels and gaps."""
    width = max((len(label) for label in view.column_labels), default=1)
    step = view.block or view.columns
    yield "  ", None
    for column, label in enumerate(view.column_labels):
        yield _gap(column, step) + label.rjust(width), None
    yield "\n", None
    for row in range(view.rows):
        if view.block and row and row % view.block == 0:
            yield "\n", None
        yield f"{view.row_labels[row]:>2}", None
        for column in range(view.columns):
            place = row * view.columns + column
            symbol = SYMBOLS.get(view.cells[place], str(view.cells[place]))
            yield _gap(column, step), None
            yield symbol.rjust(width), place
        yield "\n", None


def draw(view: BoardView) -> str:
    """The view as text."""
    return ("".join(text for text, _ in pieces(view)) + view.note).rstrip()


def _gap(column: int, step: int) -> str:
    return "  " if column and column % step == 0 else " "
