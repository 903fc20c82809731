"""Four in a square: four stones on two by two cells win. Actions are the cells, row by row."""

from __future__ import annotations

import numpy as np

from playout.games import Board, GridGame, Kernels, Vector, helper, kernel
from playout.games.core.bits import count, nth, read_owners, write_bits, write_owners
from playout.games.core.kernels import inlined_helper
from playout.games.core.playouts import random_playout
from playout.games.core.random import Rng, below

SIDE = 4
CELLS = SIDE * SIDE
FULL = (1 << CELLS) - 1
#: The cells that can be the upper left one of a square.
CORNERS = sum(1 << row * SIDE + column for row in range(SIDE - 1) for column in range(SIDE - 1))

# board: player, outcome, stones of player 1 and of player 2: cell c is bit c.


@helper
def has_square(stones: int) -> bool:
    """Return whether there are stones on all four cells of a square."""
    pairs = stones & stones >> 1
    return pairs & pairs >> SIDE & CORNERS != 0


@kernel
def start(board: Board, params: Vector) -> None:
    board[:] = 0
    board[0] = 1


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    return write_bits(FULL & ~(board[2] | board[3]), 0, actions, 0)


@kernel
def play(board: Board, action: int) -> None:
    player = board[0]
    board[1 + player] |= 1 << action
    board[0] = 3 - player
    if has_square(board[1 + player]):
        board[1] = player
    elif board[2] | board[3] == FULL:
        board[1] = -1


@inlined_helper
def choose(board: Board, state: np.uint64) -> int:
    """Return a random empty cell."""
    empty = FULL & ~(board[2] | board[3])
    return nth(empty, below(state, count(empty)))


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    return random_playout(board, rng, trace, choose, play)


@kernel
def write(board: Board, state: Vector) -> None:
    state[:2] = board[:2]
    write_owners(board[2], board[3], SIDE, SIDE, state[2:])


@kernel
def read(state: Vector, board: Board) -> None:
    board[:2] = state[:2]
    board[2], board[3] = read_owners(state[2:], SIDE, SIDE)


class FourInASquare(GridGame):
    """Put four stones on a square of two by two cells."""

    about = (
        "Players take turns to put a stone on an empty cell of a board of four by four. The first "
        "player with stones on all four cells of a square of two by two wins; a full board "
        "without such a square is a tie."
    )
    first_steps = (
        "Click an empty cell. You win with four stones on a square of two by two cells. Stones in "
        "the middle belong to four squares each."
    )

    rows = columns = SIDE

    kernels = Kernels(start, legal, play, playout, write, read)

    def __init__(self) -> None:
        super().__init__(board=4, state=2 + CELLS, actions=CELLS, plies=CELLS)
