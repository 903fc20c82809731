"""Pentago: put a stone, then turn a quarter of the board; five in a row win.

Action cell * 8 + quarter * 2 + clockwise, as in OpenSpiel: cells row by row; the quarters are the
upper left one (0) and the others clockwise; clockwise is 1, and 0 for the opposite direction.
"""

from __future__ import annotations

import functools
from typing import ClassVar

import numpy as np

from playout.games import Board, GridGame, Kernels, Vector, helper, kernel
from playout.games.core.bits import count, nth
from playout.games.core.kernels import inlined_helper
from playout.games.core.playouts import random_playout
from playout.games.core.random import Rng, below

SIDE = 6
CELLS = SIDE * SIDE
TURNS = 8

# board: player, outcome, stones of player 1 and of player 2 as words. Each quarter has nine bits:
# its ring clockwise, beginning with a corner, then its middle. To turn it is to rotate its ring by
# two bits.
_RING = ((0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0), (1, 1))


def _places() -> list[int]:
    """Return the cell of each bit."""
    corners = ((0, 0), (0, 3), (3, 3), (3, 0))
    return [(top + row) * SIDE + left + column for top, left in corners for row, column in _RING]


_CELL_OF = np.array(_places())
_BIT_OF = np.argsort(_CELL_OF)
_ALL = (1 << CELLS) - 1


def _lines() -> list[int]:
    """Return the words of all lines of five."""
    found = []
    for row in range(SIDE):
        for column in range(SIDE):
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                line = [(row + n * down, column + n * right) for n in range(5)]
                if all(0 <= each < SIDE for each in line[-1]):
                    found.append(sum(1 << int(_BIT_OF[r * SIDE + c]) for r, c in line))
    return found


_LINES = np.array(_lines())


@helper
def has_line(stones: int) -> bool:
    """Return whether there are five stones in a row."""
    found = False
    for line in _LINES:
        found |= stones & line == line
    return found


@helper
def turned(stones: int, turn: int) -> int:
    """Return the stones after a turn: twice the number of a quarter, and 1 more for clockwise."""
    first = 9 * (turn >> 1)
    ring = stones >> first & 0xFF
    up = 2 if turn & 1 else 6
    rotated = (ring << up | ring >> (8 - up)) & 0xFF
    return stones & ~(0xFF << first) | rotated << first


@helper
def move(board: Board, bit: int, turn: int) -> None:
    """Put a stone, turn a quarter, and set the outcome if the game is over."""
    player = board[0]
    board[1 + player] |= 1 << bit
    board[2], board[3] = turned(board[2], turn), turned(board[3], turn)
    board[0] = 3 - player
    first, second = has_line(board[2]), has_line(board[3])
    if first != second:
        board[1] = 1 if first else 2
    elif first or board[2] | board[3] == _ALL:
        board[1] = -1


@kernel
def start(board: Board, params: Vector) -> None:
    board[:] = 0
    board[0] = 1


@kernel
def legal(board: Board, actions: Vector) -> int:
    n = 0
    for cell in range(CELLS):
        if board[1] == 0 and (board[2] | board[3]) >> _BIT_OF[cell] & 1 == 0:
            for turn in range(TURNS):
                actions[n] = cell * TURNS + turn
                n += 1
    return n


@kernel
def play(board: Board, action: int) -> None:
    move(board, _BIT_OF[action // TURNS], action % TURNS)


@inlined_helper
def choose(board: Board, state: np.uint64) -> int:
    """Return a random empty cell with a random turn."""
    empty = _ALL & ~(board[2] | board[3])
    pick = below(state, count(empty) * TURNS)
    return _CELL_OF[nth(empty, pick // TURNS)] * TURNS + pick % TURNS


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    return random_playout(board, rng, trace, choose, play)


@kernel
def write(board: Board, state: Vector) -> None:
    state[:2] = board[:2]
    for cell in range(CELLS):
        bit = _BIT_OF[cell]
        state[2 + cell] = (board[2] >> bit & 1) + 2 * (board[3] >> bit & 1)


@kernel
def read(state: Vector, board: Board) -> None:
    board[:2] = state[:2]
    board[2] = board[3] = 0
    for cell in range(CELLS):
        owner = state[2 + cell]
        if owner == 1 or owner == 2:
            board[1 + owner] |= 1 << _BIT_OF[cell]


#: For each turn, the outer corner of the quarter and the corner to which it is turned.
_CORNERS = tuple(
    tuple(row * SIDE + column for row, column in ends)
    for ends in (
        ((0, 0), (2, 0)),
        ((0, 0), (0, 2)),
        ((0, 5), (0, 3)),
        ((0, 5), (2, 5)),
        ((5, 5), (3, 5)),
        ((5, 5), (5, 3)),
        ((5, 0), (5, 2)),
        ((5, 0), (3, 0)),
    )
)


class Pentago(GridGame):
    """Put a stone and turn a quarter of the board; five in a row win."""

    about = (
        "In turn, a player puts a stone on an empty cell, and then turns one of the four quarters "
        "of the board by 90 degrees. Five stones in a row, in any direction, win, whoever turned "
        "the quarter; if both players have five in a row, or the board is full, it is a tie. To "
        "turn a quarter, choose its outer corner, then the corner to which that is turned."
    )
    first_steps = (
        "Click an empty cell, then an outer corner of the quarter that you want to turn, then "
        "the corner to which it goes. The middle of a quarter stays where it is, so stones "
        "there are safe."
    )

    rows = columns = SIDE
    look: ClassVar = {"piece": "disc", "block": SIDE // 2}

    kernels = Kernels(start, legal, play, playout, write, read)

    def __init__(self) -> None:
        super().__init__(board=4, state=2 + CELLS, actions=CELLS * TURNS, plies=CELLS)

    @functools.cached_property
    def action_cells(self) -> tuple[tuple[int, ...], ...]:
        """For each action, the cell of the stone, and the corner that is turned to another."""
        return tuple((cell, *corners) for cell in range(CELLS) for corners in _CORNERS)
