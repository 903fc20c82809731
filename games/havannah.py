"""Havannah: connect two corners or three sides, or close a ring.

Action y * (2 * size - 1) + x puts a stone, as in OpenSpiel; with swap=true, the cell of the first
stone is the swap. The neighbours of (x, y) are
(x + 1, y), (x, y + 1), (x + 1, y + 1) and the opposite ones.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import string
from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from playout.games import (
    Board,
    BoardView,
    GridGame,
    Kernels,
    Option,
    State,
    Symmetry,
    Vector,
    helper,
    kernel,
)
from playout.games.core.bits import write_bits
from playout.games.core.kernels import at, insert
from playout.games.core.random import Rng, draw, shuffled_playout
from playout.games.core.symmetries import Triple, of_triples

# board: the header below, the empty cells as bits, then marks, which are numbers of 16 bits. The
# label of a chain is its highest cell, counted from 1. First among the marks, each label has the
# sides (bits 0 to 5) and the corners (bits 6 to 11) that its chain or its empty cell touches. Then,
# for each player, each cell has the label of its chain; other cells and a border around them have
# 0. The header says where, among the marks, the edges of label 0 and the first player's cell 0 are,
# and how many places after it the second player's cell 0 is.
_ROWS, _SWAP, _CELLS, _STONES, _EDGES, _FIRST, _SPAN, _EMPTY = 2, 3, 4, 5, 6, 7, 8, 9
_SIDES, _FIRST_CORNER = 6, 1 << 6
#: Marks are compared in blocks, the last of which may go beyond the cells.
_BLOCK = 32

MAX_SIZE = 10

Marks = NDArray[np.int16]


@helper
def edges_of(rows: int, cell: int) -> int:
    """Return the sides and the corners to which a place belongs, -1 if it is not a cell."""
    last = rows >> 1
    row, column = cell // rows, cell % rows
    x, y, z = column - last, row - last, row - column  # from the middle, along three axes
    if abs(z) > last:
        return -1
    sides = (x == -last) | (y == -last) << 1 | (z == -last) << 2
    sides |= (x == last) << 3 | (y == last) << 4 | (z == last) << 5
    corner = sides & (sides >> 1 | sides << 5)  # each side meets the next one
    return corner << 6 if corner else sides


@helper
def clear(board: Board) -> None:
    """Remove all stones from the board."""
    rows, marks = board[_ROWS], board.view(np.int16)
    board[_STONES] = board[_CELLS] = 0
    board[_EMPTY:] = 0
    for cell in range(rows * rows):
        edges = edges_of(rows, cell)
        if edges >= 0:
            board[_CELLS] += 1
            board[_EMPTY + (cell >> 6)] |= 1 << (cell & 63)
            marks[board[_EDGES] + cell + 1] = edges


@helper
def is_empty(board: Board, cell: int) -> bool:
    """Return whether a place is a cell without a stone."""
    return (board[_EMPTY + (cell >> 6)] >> (cell & 63)) & 1 != 0


@helper
def owner(board: Board, cell: int) -> int:
    """Return the player whose stone is on a cell, or 0."""
    marks, place = board.view(np.int16), board[_FIRST] + cell
    return (marks[place] != 0) + 2 * (marks[place + board[_SPAN]] != 0)


@helper
def relabel(marks: Marks, begin: int, cells: int, one: int, two: int, three: int, new: int) -> None:
    """Replace three labels of a player's stones by a new one.

    The compiler makes an instruction or two of a block, so that this is faster than a list of the
    stones of each chain.
    """
    for block in range(begin, begin + cells, _BLOCK):
        for i in range(_BLOCK):
            place = np.uint64(block + i)
            old = marks[place]
            found = (old == np.int16(one)) | (old == np.int16(two)) | (old == np.int16(three))
            marks[place] = np.int16(new) if found else old


@helper
def is_filled(marks: Marks, place: int, rows: int) -> bool:
    """Return whether a stone is there, with six neighbours of its colour."""
    for step in (1, rows, rows + 1):
        if marks[place - step] == 0 or marks[place + step] == 0:
            return False
    return marks[place] != 0


@helper
def put(board: Board, player: int, action: int) -> bool:
    """Put a stone on an empty cell; return whether it wins.

    Its neighbours of the same colour form at most three groups around it. If two groups belong to
    one chain, this chain becomes a ring, and cells between the groups are inside. In any other ring
    that the stone closes, a neighbour of the stone is inside, with six neighbours of its colour.
    """
    rows, marks = board[_ROWS], board.view(np.int16)
    board[_EMPTY + (action >> 6)] &= ~(1 << (action & 63))
    here, label = board[_FIRST] + (player - 1) * board[_SPAN] + action, action + 1
    a, b, c = at(marks, here - rows - 1), at(marks, here - rows), at(marks, here + 1)
    d, e, f = at(marks, here + rows + 1), at(marks, here + rows), at(marks, here - 1)
    # A group begins after a place without a stone of the player.
    one = (0 if f else a) | (0 if a else b)
    two = (0 if b else c) | (0 if c else d)
    three = (0 if d else e) | (0 if e else f)
    new = max(one, two, three, label)
    edges = board[_EDGES]
    touched = at(marks, edges + one) | at(marks, edges + two) | at(marks, edges + three)
    touched |= at(marks, edges + label)
    marks[np.uint64(edges + one)] = marks[np.uint64(edges + two)] = 0
    marks[np.uint64(edges + three)] = marks[np.uint64(edges + label)] = 0
    marks[np.uint64(edges + new)] = touched
    first, second, third = one if one else new, two if two else new, three if three else new
    relabel(marks, here - action, rows * rows, first, second, third, new)
    marks[np.uint64(here)] = new
    sides, corners = touched & _FIRST_CORNER - 1, touched >> _SIDES
    sides &= sides - 1
    won = (sides & (sides - 1) | corners & (corners - 1)) != 0
    won |= (one != 0) & ((one == two) | (one == three)) | (two != 0) & (two == three)
    if f & a & b | a & b & c | b & c & d | c & d & e | d & e & f | e & f & a:
        for step in (1, rows, rows + 1):
            won |= is_filled(marks, here - step, rows) | is_filled(marks, here + step, rows)
    return won


@helper
def can_swap(board: Board) -> bool:
    """Return whether the player to move may take over the only stone, which is the opponent's."""
    return board[_SWAP] == 1 and board[_STONES] == 1 and board[0] == 2


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    n, cells = 0, board[_ROWS] ** 2
    for word in range((cells + 63) >> 6):
        n = write_bits(board[_EMPTY + word], 64 * word, actions, n)
    if can_swap(board):
        for cell in range(cells):
            if owner(board, cell):
                insert(actions, n, cell)
        n += 1
    return n


@kernel
def play(board: Board, action: int) -> None:
    player = board[0]
    board[0] = 3 - player
    if is_empty(board, action):
        board[_STONES] += 1
    else:  # the swap
        board.view(np.int16)[board[_FIRST] + action] = 0
    if put(board, player, action):
        board[1] = player
    elif board[_STONES] == board[_CELLS]:
        board[1] = -1


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    begin, end = 0, legal(board, trace)
    if end and can_swap(board):
        trace[0] = trace[draw(rng, end)]
        play(board, trace[0])
        begin, end = 1, 1 + legal(board, trace[1:])
    ply = shuffled_playout(board, rng, trace, begin, end, put)
    board[_STONES] += ply - begin
    if board[1] == 0:
        board[1] = -1
    return ply


@kernel
def write(board: Board, state: Vector) -> None:
    state[:2] = board[:2]
    for cell in range(board[_ROWS] ** 2):
        state[2 + cell] = owner(board, cell)


@kernel
def read(state: Vector, board: Board) -> None:
    clear(board)
    board[:2] = state[:2]
    for cell in range(board[_ROWS] ** 2):
        stone = state[2 + cell]
        if (stone == 1 or stone == 2) and is_empty(board, cell):
            board[_STONES] += 1
            put(board, stone, cell)


class Havannah(GridGame):
    """Connect two corners or three sides of the board, or close a ring."""

    about = (
        "In turn, a player puts a stone on an empty cell of a hexagonal board. A player wins with "
        "a chain of connected stones that joins two of the six corners, or three of the six sides, "
        "to which the corners do not belong, or that is a ring around at least one cell, whatever "
        "is on this cell. A full board without any of these is a tie. With `swap`, the second "
        "player may answer the first stone by taking it over: it changes its colour, and the first "
        "player moves again."
    )
    groups = ("connection",)
    first_steps = (
        "Click an empty cell. You win by joining two corners or three sides, or with a ring. "
        "Two stones with two empty cells between them that touch both are as good as "
        "connected; threaten two things at once."
    )
    variants: ClassVar = {
        "size=4": "A short match.",
        "size=10": "The largest board.",
        "swap=true": "The second player may take over the first stone.",
    }

    look: ClassVar = {"geometry": "hex", "piece": "stone"}
    upward = True
    puts_stones = True

    proposed: ClassVar = {"swap": True}
    kernels = Kernels(legal, play, playout, write, read)

    def __init__(
        self,
        size: Annotated[int, Option("cells of a side of the board", ge=2, le=MAX_SIZE)] = 6,
        swap: Annotated[bool, Option("the second player may take over the first stone")] = False,
    ) -> None:
        self.size = size
        self.rows = self.columns = rows = 2 * size - 1
        self.legal_if_empty = not swap
        cells = rows * rows
        marks = 3 * (cells + rows) + 4 + _BLOCK
        edges = 4 * (_EMPTY + (cells + 63) // 64)
        header = {
            _ROWS: rows,
            _SWAP: int(swap),
            _SPAN: cells + 2 * rows + 2,
            _EDGES: edges,
            _FIRST: edges + cells + rows + 2,
        }
        super().__init__(
            header,
            board=_EMPTY + (cells + 63) // 64 + (marks + 3) // 4,
            state=2 + cells,
            actions=cells,
            plies=len(self.triples) + int(swap),
        )

    @functools.cached_property
    def triples(self) -> Mapping[int, Triple]:
        """The cells, each with three coordinates that symmetries exchange or negate."""
        middle, found = self.size - 1, {}
        for cell in range(self.rows**2):
            row, column = divmod(cell, self.rows)
            if abs(row - column) <= middle:
                found[cell] = column - middle, middle - row, row - column
        return found

    @functools.cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        drawn = [self.drawn(cell) for cell in range(self.rows**2)]
        return of_triples(self.triples, drawn, negated=True)

    def drawn(self, cell: int) -> int:
        """Return the cell of the view, whose rows are counted from the top."""
        return (self.rows - 1 - cell // self.rows) * self.rows + cell % self.rows

    @functools.cached_property
    def cell_words(self) -> tuple[int, ...]:
        return tuple(2 + self.drawn(cell) for cell in range(self.rows**2))

    @functools.cached_property
    def action_cells(self) -> tuple[tuple[int, ...], ...]:
        cells = range(self.rows**2)
        return tuple((self.drawn(cell),) if cell in self.triples else () for cell in cells)

    def parse_action(self, state: State, text: str) -> int:
        if text.strip().lower() == "swap":  # a swap is named like its cell
            taken = (action for action in self.legal_actions(state) if state[2 + action])
            if (action := next(taken, None)) is not None:
                return action
        return super().parse_action(state, text)

    def note(self, state: State) -> str:
        swaps = any(state[2 + action] for action in self.legal_actions(state))
        return "the stone may be taken over" if swaps else ""

    @functools.cached_property
    def _labels(self) -> tuple[str, ...]:
        used = {*itertools.chain(*self.action_cells)}
        cells = range(self.rows**2)
        return tuple(self.cell_name(cell) if cell in used else "" for cell in cells)

    def view(self, state: State) -> BoardView:
        names = tuple(string.ascii_lowercase[: self.rows])
        view = super().view(state)
        return dataclasses.replace(view, cell_labels=self._labels, column_names=names)
