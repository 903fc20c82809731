"""A position as a drawing, for pages and terminals."""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol


@dataclass(frozen=True)
class BoardView:
    """Rows and columns of cells, and the cells to click for each action.

    `cells` runs row by row from the top left: 0 is empty, otherwise the number of the player that
    owns the piece (1 for the chips of nim), or 3 for a piece of no player, which has a kind.
    `clicks` maps each legal action to the cells that a player clicks for it, in order: one for a
    placement, none for a pass.
    """

    rows: int
    columns: int
    cells: tuple[int, ...]
    clicks: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    #: grid: squares. columns: pieces fall, any cell of a column can be clicked. heap: no
    #: coordinates. hex: hexagons, each row half a cell further to the right than the one above it.
    #: pits: cells without a name in `cell_labels` are not used, and the others show `counts`.
    #: points: two rows of points as in backgammon, between which are the bar and, at the right, the
    #: checkers borne off; cells show `counts`. scores: one row with the points of player 1, those
    #: of this turn, and those of player 2, as `counts`; moves have no cells.
    #: text: the position is `text`, there are no cells, and moves go by their names.
    geometry: Literal["grid", "columns", "heap", "hex", "pits", "points", "scores", "text"] = "grid"
    #: How pieces are drawn. figure: as the pieces of chess that `kinds` names.
    piece: Literal["mark", "disc", "stone", "chip", "seeds", "figure"] = "mark"
    #: The kind of the piece on each cell, "" without a piece; () if there is only one kind. Figures
    #: are "king", "queen", "rook", "bishop", "knight" and "pawn". A "king" that is no figure has a
    #: crown, a "pawn" is always a figure, and other kinds are drawn as `piece` says. Terminals show
    #: "man" and "stone" in lower case, and figures as FEN does: K of player 1, k of player 2. Kinds
    #: that are numbers are written on the pieces.
    #: Pieces of no player are "arrow", "dot", "horizontal line" and "vertical line"; a "box" is
    #: filled with the colour of its player. An empty cell has the kind that a move puts there, if
    #: moves can put several.
    kinds: tuple[str, ...] = ()
    #: How many pieces are on each cell; () if there is one at most.
    counts: tuple[int, ...] = ()
    #: The numbers of the dice that were rolled for this move, negative for those that are used.
    dice: tuple[int, ...] = ()
    #: The number on the doubling cube and its owner, 0 for nobody; of a double that is offered, the
    #: new number and the player who may take it, as a negative number. () without a cube.
    cube: tuple[int, ...] = ()
    #: How the board is drawn, and the colours of the pieces of player 1 and player 2.
    #: checkered: brown squares, the top left one light; white and black pieces. wood: black and
    #: white stones on the crossings of lines, with star points as in Go. green: black and white
    #: discs, as in Othello. blue: red and yellow discs, as in Connect Four. blank: no lines between
    #: the cells.
    surface: Literal["plain", "checkered", "wood", "green", "blue", "blank"] = "plain"
    #: Whether player 1 has the dark pieces of a checkered board.
    dark_begins: bool = False
    #: The names of the cells, "" for those that are not used, such as the light squares of
    #: draughts; () if rows and columns name them. The names of hexagons are not drawn.
    cell_labels: tuple[str, ...] = ()
    #: Cells per block in each direction, separated by heavy lines; 0 for no blocks.
    block: int = 0
    #: The winner of each block, row by row; 0 for none.
    blocks: tuple[int, ...] = ()
    #: The cells by which a player has won, such as four in a row; () for none.
    winning: tuple[int, ...] = ()
    #: While a score is counted: for each cell without a living piece, the player who has a point
    #: for it, 0 for none. A piece of the kind "dead stone" counts as captured. () in play.
    areas: tuple[int, ...] = ()
    #: The cells of pieces that must be saved at once, such as a king in check; () for none.
    checked: tuple[int, ...] = ()
    #: For hexagons: the players to whom the edges belong, from the top clockwise; () for none.
    edges: tuple[int, ...] = ()
    #: A text for people with what the cells do not show.
    note: str = ""
    #: The position as lines of text, for a game without cells.
    text: str = ""
    #: The labels of the columns, and of the rows from the top, where they are not the usual ones.
    column_names: tuple[str, ...] = ()
    row_names: tuple[str, ...] = ()

    @property
    def column_labels(self) -> tuple[str, ...]:
        """Return one label per column: by default a, b, ... for a grid or hexagons, else 1, 2, ...

        They are empty texts if the cells have names of their own.
        """
        if self.column_names:
            return self.column_names
        if self.cell_labels:
            return ("",) * self.columns
        if self.geometry in _NAMED:
            return tuple(string.ascii_lowercase[: self.columns])
        return tuple(str(column + 1) for column in range(self.columns))

    @property
    def row_labels(self) -> tuple[str, ...]:
        """Return one label per row, from the top; by default numbers for a grid or hexagons."""
        if self.row_names:
            return self.row_names
        numbered = self.geometry in _NAMED and not self.cell_labels
        return tuple(str(row + 1) if numbered else "" for row in range(self.rows))


def owners(pieces: Iterable[int]) -> tuple[int, ...]:
    """Return the player of each piece: 1 for odd numbers, 2 for even ones, 0 for none."""
    return tuple(0 if piece == 0 else 2 - piece % 2 for piece in pieces)


#: The geometries whose rows and columns have names.
_NAMED = ("grid", "hex")
_SYMBOLS = ".XO"
#: The kinds of pieces that a terminal shows in lower case.
_LESSER = ("man", "stone", "dead stone")
#: The letters of figures, where they are not the first ones of their kinds.
_FIGURES = {"knight": "n"}
#: The symbols of pieces of no player; the other such pieces block their cells.
_UNOWNED = {"dot": "+", "horizontal line": "-", "vertical line": "|"}
_EDGES = {0: " ", 1: "x", 2: "o"}


def symbol(owner: int, kind: str = "", piece: str = "") -> str:
    """Return the letter of a player's piece, `.` for an empty cell, or `#` for a blocked one.

    Numbers that are no owners are returned as they are.
    """
    if not 0 <= owner <= 2:
        return _UNOWNED.get(kind, "#") if kind else str(owner)
    if kind.isdecimal() and owner:
        return _SYMBOLS[owner] + kind
    if piece == "figure" and owner:
        letter = _FIGURES.get(kind, kind[:1])
        return letter.upper() if owner == 1 else letter
    return _SYMBOLS[owner].lower() if kind in _LESSER else _SYMBOLS[owner]


class Cells(Protocol):
    """The pieces of a position, as in BoardView."""

    @property
    def cells(self) -> tuple[int, ...]: ...

    @property
    def kinds(self) -> tuple[str, ...]: ...

    @property
    def counts(self) -> tuple[int, ...]: ...


class Shape(Protocol):
    """The names of the cells, the look of their pieces and their geometry, as in BoardView."""

    @property
    def cell_labels(self) -> tuple[str, ...]: ...

    @property
    def piece(self) -> str: ...

    @property
    def geometry(self) -> str: ...


def cell_text(view: Cells, shape: Shape, place: int) -> str:
    """Return the letter of a piece, or the name of a pit and its seeds, as in A:4.

    A point has its checkers, as in 24:X2. An empty cell with a name of its own shows the name,
    unless it is a hexagon; the text of a cell that is not used is empty.
    """
    name = shape.cell_labels[place] if shape.cell_labels else ""
    if shape.geometry in ("pits", "scores"):
        return f"{name}:{view.counts[place]}" if name else ""
    if shape.geometry == "points":
        count = view.counts[place]
        return f"{name}:{symbol(view.cells[place])}{count}" if count else name
    if shape.cell_labels and not view.cells[place] and not (name and shape.geometry == "hex"):
        return name
    return symbol(view.cells[place], view.kinds[place] if view.kinds else "", shape.piece)


def legend(view: Cells, shape: Shape) -> str:
    """Return the meaning of the letters: their players, and the kinds of pieces on the board."""
    if shape.geometry == "points":
        return "names of points; X and O are checkers of player 1 and player 2, with their number"
    if shape.geometry == "scores":
        return "points of player 1, of this turn, and of player 2"
    if view.counts:
        return "names of pits, and their seeds; capital letters are player 1, the others player 2"
    if not any(view.kinds):
        return "X is player 1, O is player 2"
    pieces = sorted({*zip(view.cells, view.kinds, strict=True)})
    kinds = sorted({kind for owner, kind in pieces if owner in (1, 2)})
    owned = [
        f"{symbol(player, kind, shape.piece)} is a {kind} of player {player}"
        for player in (1, 2)
        for kind in kinds
    ]
    unowned = [f"{symbol(owner, kind)} stands for: {kind}" for owner, kind in pieces if owner > 2]
    return ", ".join(owned + unowned)


def pieces(view: BoardView) -> Iterator[tuple[str, int | None]]:
    """Yield the drawing in pieces of text, each with its cell.

    For an edge of a player, that is the number of the player, negative; for labels and gaps, None.
    """
    if view.geometry == "text":
        yield view.text + "\n", None
        return
    if view.geometry == "hex":
        yield from _hexagons(view)
        return
    if view.geometry in ("pits", "scores"):
        yield from _pits(view)
        return
    if view.geometry == "points":
        yield from _points(view)
        return
    numbered = ("X1",) if any(map(str.isdecimal, view.kinds)) else ()
    width = max(map(len, (*view.column_labels, *view.cell_labels, *numbered, ".")))
    step = view.block or view.columns
    if any(view.column_labels):
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
            yield _gap(column, step), None
            yield cell_text(view, view, place).rjust(width), place
        yield "\n", None


def _pits(view: BoardView) -> Iterator[tuple[str, int | None]]:
    """Yield the pits with their names, in columns that are as wide as their widest text."""
    texts = [cell_text(view, view, place) for place in range(len(view.cells))]
    widths = [max(map(len, texts[column :: view.columns])) for column in range(view.columns)]
    for place, text in enumerate(texts):
        column = place % view.columns
        yield " " * (2 if column else 1), None
        yield text.rjust(widths[column]), place
        if column == view.columns - 1:
            yield "\n", None


#: Checkers of a point that a terminal shows below each other; the last one is a number if there are
#: more.
_STACK = 5


def _points(view: BoardView) -> Iterator[tuple[str, int | None]]:
    """Yield the two rows of points, with the checkers below each other as on a board."""
    for row in (0, 1):
        cells = range(row * view.columns, (row + 1) * view.columns)
        names = "".join(f"{view.cell_labels[cell]:>4}" for cell in cells) + "\n"
        if row == 0:
            yield names, None
        for level in range(_STACK) if row == 0 else reversed(range(_STACK)):
            for cell in cells:
                count = view.counts[cell]
                has_more = level == _STACK - 1 and count > _STACK
                mark = symbol(view.cells[cell]) if count > level or level == 0 else " "
                yield "  ", None
                yield f"{count if has_more else mark:>2}", cell
            yield "\n", None
        yield (names if row else "\n"), None


def _hexagons(view: BoardView) -> Iterator[tuple[str, int | None]]:
    """Yield rows that are sheared, between the edges, whose symbols are lower-case letters."""
    top, right, bottom, left = view.edges or (0, 0, 0, 0)
    yield "     " + " ".join(view.column_labels) + "\n", None
    yield from _edge(4, top, view.columns)
    for row in range(view.rows):
        yield " " * row + f"{view.row_labels[row]:>2} ", None
        yield _EDGES[left], -left or None
        for place in range(row * view.columns, (row + 1) * view.columns):
            yield " ", None
            yield cell_text(view, view, place).rjust(1), place
        yield " ", None
        yield _EDGES[right], -right or None
        yield "\n", None
    yield from _edge(3 + view.rows, bottom, view.columns)


def _edge(indent: int, owner: int, columns: int) -> Iterator[tuple[str, int | None]]:
    """Yield the edge above or below the cells, if it belongs to a player."""
    if owner:
        yield " " * indent, None
        yield " ".join(_EDGES[owner] * (columns + 1)), -owner
        yield "\n", None


def draw(view: BoardView) -> str:
    """Return the view as text, lines separated by newlines."""
    return ("".join(text for text, _ in pieces(view)) + view.note).rstrip()


def _gap(column: int, step: int) -> str:
    return "  " if column and column % step == 0 else " "
