"""Lines of Action, with the actions of OpenSpiel: bring all your pieces together.

Action (from * 64 + to) * 2 + capture moves a piece between two cells, which are counted row by row
from the bottom. A position that repeats is a tie, whoever is to move; so are 300 moves in a row
without a capture, where OpenSpiel has a limit of 1,000 moves in all.
"""

from __future__ import annotations

import functools
from typing import ClassVar

import numpy as np

from playout.games import Board, GridGame, Kernels, State, Symmetry, Vector, helper, kernel
from playout.games.core.bits import count, nth, read_owners, spread, write_owners
from playout.games.core.kernels import count_again, forget, insert, remember, visits
from playout.games.core.random import GAMMA, Rng, below

SIDE = 8
CELLS = SIDE * SIDE
#: Moves in a row without a capture that make a tie.
QUIET_PLIES = 300
#: The pieces of each player at the start; at least one of them is never captured.
PIECES = 12
PLIES = QUIET_PLIES * (2 * PIECES - 1)

# board: player, outcome, pieces of player 1 and of player 2, the number of earlier positions since
# the last capture, and numbers for these, filled up with 0. Pieces are the bits of a word, one for
# each cell; words are stored as int64 and processed as uint64.
_EARLIER, _HISTORY = 4, 5

_0, _1 = np.uint64(0), np.uint64(1)
_M1, _M2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_32, _12 = np.uint64(32), np.uint64(12)

#: Rows up and columns to the right for each direction; the opposite one is four further.
_STEPS = np.array([(1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)])


def _line(cell: int, direction: int) -> int:
    """Return the cells of the line through a cell, in a direction and the opposite one."""
    up, right = (int(each) for each in _STEPS[direction])
    places = [(cell // SIDE + n * up, cell % SIDE + n * right) for n in range(1 - SIDE, SIDE)]
    return sum(1 << r * SIDE + c for r, c in places if 0 <= r < SIDE and 0 <= c < SIDE)


_LINES = np.array([[_line(cell, way) for way in range(8)] for cell in range(CELLS)], np.uint64)


@helper
def target_of(own: np.uint64, other: np.uint64, cell: int, direction: int) -> int:
    """Return the cell to which a piece moves in a direction, -1 if it cannot.

    It moves as many steps as there are pieces on the line, and not over a piece of the opponent.
    """
    steps = count(_LINES[cell, direction] & (own | other))
    up, right = _STEPS[direction, 0], _STEPS[direction, 1]
    row, column = (cell >> 3) + steps * up, (cell & 7) + steps * right
    if row < 0 or row >= SIDE or column < 0 or column >= SIDE:
        return -1
    target = row * SIDE + column
    step = up * SIDE + right
    for n in range(1, steps):
        if other >> np.uint64(cell + n * step) & _1:
            return -1
    return -1 if own >> np.uint64(target) & _1 else target


@helper
def can_move(own: np.uint64, other: np.uint64) -> bool:
    """Return whether any piece of `own` can move."""
    for cell in range(CELLS):
        if own >> np.uint64(cell) & _1:
            for direction in range(8):
                if target_of(own, other, cell, direction) >= 0:
                    return True
    return False


@helper
def is_connected(pieces: np.uint64) -> bool:
    """Return whether all pieces are one group."""
    group = pieces & (_0 - pieces)
    grown = spread(group) & pieces
    while grown != group:
        group = grown
        grown = spread(group) & pieces
    return group == pieces


@helper
def number(board: Board) -> int:
    """Return a hash of the position, at least 1 and less than 2^53."""
    mixed = np.uint64(board[2]) * _M1
    mixed = ((mixed ^ mixed >> _32) + np.uint64(board[3])) * _M2
    mixed = (mixed ^ mixed >> _32) * _M1
    return np.int64((mixed ^ mixed >> _32) >> _12) | 1  # type: ignore[return-value]


@helper
def advance(board: Board, cell: int, target: int) -> None:
    """Move a piece, and set the outcome if the game is over."""
    player = board[0]
    own, other = np.uint64(board[1 + player]), np.uint64(board[4 - player])
    to = _1 << np.uint64(target)
    if other & to:
        forget(board, _EARLIER, _HISTORY)
    else:
        remember(board, _EARLIER, _HISTORY, number(board))
    own ^= to | _1 << np.uint64(cell)
    other &= ~to
    board[1 + player], board[4 - player] = np.int64(own), np.int64(other)
    board[0] = 3 - player
    if is_connected(own) or (not can_move(other, own) and not is_connected(other)):
        board[1] = player
    elif is_connected(other):
        board[1] = 3 - player
    elif board[_EARLIER] >= QUIET_PLIES or visits(board, _EARLIER, _HISTORY, number(board), 1):
        board[1] = -1
    if board[1]:
        forget(board, _EARLIER, _HISTORY)


@kernel
def legal(board: Board, actions: Vector) -> int:
    n = 0
    own, other = np.uint64(board[1 + board[0]]), np.uint64(board[4 - board[0]])
    for cell in range(CELLS):
        if board[1] == 0 and own >> np.uint64(cell) & _1:
            for direction in range(8):
                target = target_of(own, other, cell, direction)
                if target >= 0:
                    capture = other >> np.uint64(target) & _1 != _0
                    insert(actions, n, (cell * CELLS + target) * 2 + capture)
                    n += 1
    return n


@kernel
def play(board: Board, action: int) -> None:
    advance(board, action >> 7, action >> 1 & CELLS - 1)


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    ply = 0
    state = rng[0]
    while board[1] == 0:
        own, other = np.uint64(board[1 + board[0]]), np.uint64(board[4 - board[0]])
        target = -1
        while target < 0:  # there is a move, and each is one piece in one direction
            state += GAMMA
            pick = below(state, 8 * count(own))
            cell = nth(own, pick >> 3)
            target = target_of(own, other, cell, pick & 7)
        capture = other >> np.uint64(target) & _1 != _0
        trace[ply] = (cell * CELLS + target) * 2 + capture
        advance(board, cell, target)
        ply += 1
    rng[0] = state
    return ply


@kernel
def write(board: Board, state: Vector) -> None:
    state[:2] = board[:2]
    write_owners(board[2], board[3], SIDE, SIDE, state[2 : 2 + CELLS])
    state[2 + CELLS :] = board[_HISTORY:]


@kernel
def read(state: Vector, board: Board) -> None:
    board[:2] = state[:2]
    board[2], board[3] = read_owners(state[2 : 2 + CELLS], SIDE, SIDE)
    board[_HISTORY:] = state[2 + CELLS :]
    count_again(board, _EARLIER, _HISTORY, QUIET_PLIES - 1)


#: The cell of the view for each cell, whose rows are counted from the bottom, and the reverse.
_DRAWN = tuple(cell ^ (CELLS - SIDE) for cell in range(CELLS))


class LinesOfAction(GridGame):
    """Bring all your pieces together; a piece moves as many cells as its line has pieces."""

    about = (
        "A piece moves along a row, a column or a diagonal, exactly as many cells as there are "
        "pieces on this line, of both players and itself included. It jumps over own pieces, but "
        "not over those of the opponent; if it ends on one, that is captured. A player whose "
        "pieces are all connected, along rows, columns or diagonals, wins; if a move connects the "
        "pieces of both players, the player who moved wins. A player who cannot move loses. A "
        f"position that repeats is a tie, and so are {QUIET_PLIES} moves without a capture."
    )
    groups = ("connection",)
    first_steps = (
        "Click one of your pieces, then a marked cell. You win when all your pieces are "
        "connected. Pieces in the middle are easier to connect than those at the edge, and a "
        "wall of pieces keeps the opponent apart."
    )

    rows = columns = SIDE
    cell_words = tuple(2 + cell for cell in _DRAWN)
    look: ClassVar = {"piece": "disc", "surface": "checkered", "dark_begins": True}
    upward = True

    kernels = Kernels(legal, play, playout, write, read)

    def __init__(self) -> None:
        first = [0] * CELLS
        for n in range(1, SIDE - 1):
            first[n] = first[CELLS - 1 - n] = 1
            first[n * SIDE] = first[n * SIDE + SIDE - 1] = 2
        super().__init__(
            first=(1, 0, *first),
            board=_HISTORY + QUIET_PLIES,
            state=2 + CELLS + QUIET_PLIES,
            actions=2 * CELLS * CELLS,
            plies=PLIES,
            earlier=QUIET_PLIES,
        )

    @functools.cached_property
    def action_cells(self) -> tuple[tuple[int, ...], ...]:
        """For each action, the cells of the view from which and to which it moves a piece."""
        return tuple((begin, end) for begin in _DRAWN for end in _DRAWN for _ in range(2))

    @functools.cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        # The others exchange the players.
        return tuple(each for each in super().symmetries if each.cells[1] // SIDE in (0, SIDE - 1))

    def action_name(self, state: State, action: int) -> str:
        return ("x" if action % 2 else "").join(map(self.cell_name, self.action_cells[action]))
