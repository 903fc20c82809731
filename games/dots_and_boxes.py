"""Dots and boxes: draw lines between dots; a player who closes a box has it, and draws again.

Actions are numbered as in OpenSpiel: the horizontal lines row by row, then the vertical ones.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterator
from typing import Annotated, ClassVar

from playout.games import (
    Board,
    BoardView,
    GridGame,
    Kernels,
    Option,
    State,
    Vector,
    helper,
    kernel,
)
from playout.games.core.kernels import outcome_of
from playout.games.core.random import GAMMA, Rng, below, exchange

MAX_SIDE = 7
BOXES = MAX_SIDE * MAX_SIDE
LINES = 2 * MAX_SIDE * (MAX_SIDE + 1)

# board: the header below, with the number of lines that can be drawn and the boxes of each player,
# then for each line 1 if it is drawn, for each box the number of its lines, and its owner.
_ROWS, _COLUMNS, _FREE, _POINTS, _LINES = 2, 3, 4, 5, 7
_SIDES = _LINES + LINES
_OWNERS = _SIDES + BOXES


@helper
def lines_of(board: Board) -> int:
    """Return the number of all lines."""
    rows, columns = board[_ROWS], board[_COLUMNS]
    return rows * (columns + 1) + (rows + 1) * columns


@helper
def boxes_of(board: Board, line: int) -> tuple[int, int]:
    """Return the boxes at both sides of a line; -1 for none."""
    rows, columns = board[_ROWS], board[_COLUMNS]
    horizontal = (rows + 1) * columns
    if line < horizontal:
        return line - columns, line if line < rows * columns else -1
    row = (line - horizontal) // (columns + 1)
    column = line - horizontal - row * (columns + 1)
    right = row * columns + column
    return right - 1 if column else -1, right if column < columns else -1


@helper
def draw_line(board: Board, line: int) -> None:
    """Draw a line for the player to move, and set the outcome if it is the last one."""
    player = board[0]
    board[_LINES + line] = 1
    board[_FREE] -= 1
    closed = 0
    for box in boxes_of(board, line):
        if box >= 0:
            board[_SIDES + box] += 1
            if board[_SIDES + box] == 4:
                board[_OWNERS + box] = player
                closed += 1
    board[_POINTS + player - 1] += closed
    if closed == 0:
        board[0] = 3 - player
    if board[_FREE] == 0:
        board[1] = outcome_of(board[_POINTS] - board[_POINTS + 1])


@kernel
def legal(board: Board, actions: Vector) -> int:
    n = 0
    for line in range(lines_of(board)):
        if board[1] == 0 and board[_LINES + line] == 0:
            actions[n] = line
            n += 1
    return n


@kernel
def play(board: Board, action: int) -> None:
    draw_line(board, action)


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    if board[1]:
        return 0
    left = 0
    for line in range(lines_of(board)):
        if board[_LINES + line] == 0:
            trace[left] = line
            left += 1
    state = rng[0]
    for ply in range(left):
        state += GAMMA
        draw_line(board, exchange(trace, ply, ply + below(state, left - ply)))
    rng[0] = state
    return left


@kernel
def write(board: Board, state: Vector) -> None:
    lines, boxes = lines_of(board), board[_ROWS] * board[_COLUMNS]
    state[:2] = board[:2]
    state[2 : 2 + lines] = board[_LINES : _LINES + lines]
    state[2 + lines :] = board[_OWNERS : _OWNERS + boxes]


@kernel
def read(state: Vector, board: Board) -> None:
    lines, boxes = lines_of(board), board[_ROWS] * board[_COLUMNS]
    board[:2] = state[:2]
    board[_POINTS:] = 0
    board[_FREE] = lines
    for line in range(lines):
        if state[2 + line] == 1:
            board[_LINES + line] = 1
            board[_FREE] -= 1
            for box in boxes_of(board, line):
                if box >= 0:
                    board[_SIDES + box] += 1
    for box in range(boxes):
        owner = state[2 + lines + box]
        if owner == 1 or owner == 2:
            board[_OWNERS + box] = owner
            board[_POINTS + owner - 1] += 1


#: The kinds of the cells of the view in even and odd rows and columns.
_KINDS = (("dot", "horizontal line"), ("vertical line", "box"))


class DotsAndBoxes(GridGame):
    """Draw lines between dots; a player who closes a box has it, and draws again."""

    about = (
        "In turn, a player draws a line between two dots that are beside each other. A player who "
        "draws the fourth line around a box has that box and draws another line. When all lines "
        "are drawn, the player with more boxes wins."
    )
    groups = ("territory", "quick")
    first_steps = (
        "Click between two dots to draw a line. Close a box and you draw again; have more boxes "
        "at the end and you win. Do not draw the third line of a box, as the opponent closes it. "
        "When no other line is left, give away the shortest row of boxes."
    )
    variants: ClassVar = {"rows=3,columns=3": "A short match, to learn the game."}

    look: ClassVar = {"surface": "blank"}
    pieces = ()

    kernels = Kernels(legal, play, playout, write, read)

    def __init__(
        self,
        rows: Annotated[int, Option("of boxes", ge=1, le=MAX_SIDE)] = 5,
        columns: Annotated[int, Option("of boxes", ge=1, le=MAX_SIDE)] = 5,
    ) -> None:
        lines = rows * (columns + 1) + (rows + 1) * columns
        super().__init__(
            {_ROWS: rows, _COLUMNS: columns},
            board=_OWNERS + BOXES,
            state=2 + lines + rows * columns,
            actions=lines,
            plies=lines,
        )
        # In the view, dots, lines and boxes have a cell each.
        self.rows, self.columns = 2 * rows + 1, 2 * columns + 1

    @functools.cached_property
    def action_cells(self) -> tuple[tuple[int, ...], ...]:
        """For each action, the cell of its line."""
        return tuple((cell,) for cell in (*self._cells(0, 1), *self._cells(1, 0)))

    def _cells(self, row: int, column: int) -> Iterator[int]:
        """Yield the cells of every other row and column of the view, from these on."""
        for down in range(row, self.rows, 2):
            yield from range(down * self.columns + column, (down + 1) * self.columns, 2)

    def _boxes(self, state: State) -> State:
        """Return the owner of each box, 0 for none."""
        return state[2 + self.num_actions :]

    def lead(self, state: State) -> float:
        return float(self._boxes(state).count(1) - self._boxes(state).count(2))

    @functools.cached_property
    def cell_words(self) -> tuple[int, ...]:
        words = [-1] * (self.rows * self.columns)
        used = itertools.chain(*self.action_cells, self._cells(1, 1))
        for word, cell in enumerate(used, start=2):
            words[cell] = word
        return tuple(words)

    def cells(self, state: State) -> tuple[int, ...]:
        cells = [0] * (self.rows * self.columns)
        for cell in self._cells(0, 0):
            cells[cell] = 3
        for (cell,), drawn in zip(self.action_cells, state[2 : 2 + self.num_actions], strict=True):
            cells[cell] = 3 if drawn else 0
        for cell, owner in zip(self._cells(1, 1), self._boxes(state), strict=True):
            cells[cell] = owner
        return tuple(cells)

    def note(self, state: State) -> str:
        return f"boxes {self._boxes(state).count(1)}-{self._boxes(state).count(2)}"

    @functools.cached_property
    def _kinds(self) -> list[str]:
        """The kind of the piece on each cell of the view when all lines are drawn."""
        rows, columns = range(self.rows), range(self.columns)
        return [_KINDS[row % 2][column % 2] for row in rows for column in columns]

    def view(self, state: State) -> BoardView:
        view, kinds = super().view(state), self._kinds.copy()
        for cell in self._cells(1, 1):
            kinds[cell] = "box" if view.cells[cell] else ""
        return dataclasses.replace(view, kinds=tuple(kinds))
