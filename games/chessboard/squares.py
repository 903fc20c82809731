"""The board of chess for compiled code, and the numbers of actions.

Sets of squares are words of 64 bits as the player to move sees the board: bit `8 * rank + file`,
where rank 0 is the player's own first rank. After each move the ranks are reversed, so that the
rules exist for one direction only. Words are stored as int64 and processed as uint64.

An action is `(8 * file + rank) * 73 + plane` for the square of the piece that moves, also as the
player to move sees it, as in OpenSpiel. Planes 0 to 8 are promotions to a rook, a bishop and a
knight, each straight on, to the right and to the left. The next 56 are moves along the four axes by
-7 to -1 and 1 to 7 squares, and the last eight those of a knight. Two more actions castle.
"""

from __future__ import annotations

import numpy as np

from playout.games.core.kernels import helper

SIDE = 8
SQUARES = SIDE * SIDE

#: Plies in a row without a capture and without a move of a pawn that are a tie.
QUIET_PLIES = 100

#: Sets of squares on the board, after the player to move and the outcome: the pieces of the player
#: to move and of the opponent, then the kinds. Queens are in both of DIAGONAL and STRAIGHT.
OWN, OTHER, PAWNS, KNIGHTS, DIAGONAL, STRAIGHT, KINGS = range(2, 9)
#: The rooks that may castle, and the square that a pawn has just passed, where it can be captured.
CASTLING, PASSED = 9, 10
#: Plies in a row without a capture and without a move of a pawn, and the hash of the position
#: before each of them.
QUIET, EARLIER = 11, 12
BOARD_WORDS = EARLIER + QUIET_PLIES

#: The places of a state: the cells from the top left, each 0 or 2 * kind + player - 2 with the
#: kinds 1 to 6 (pawn, knight, bishop, rook, queen, king); then castling, the cell that a pawn has
#: just passed or NOWHERE, and the last two of the board.
CELLS = 2
STATE_CASTLING, STATE_PASSED, STATE_QUIET, STATE_EARLIER = range(
    CELLS + SQUARES, CELLS + SQUARES + 4
)
STATE_WORDS = STATE_EARLIER + QUIET_PLIES
NOWHERE = -1
PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(1, 7)

#: Directions come in pairs of opposite ones: up and down, right and left, and the diagonals.
SHIFTS = np.array([8, -8, 1, -1, 9, -9, -7, 7])
JUMPS = np.array([-10, 6, -17, 15, -6, 10, -15, 17])
UP, RIGHT_UP, LEFT_UP = 0, 4, 7
LEFT_DOWN, RIGHT_DOWN = 5, 6

UNDERPROMOTIONS = 9
AXIS_PLANES = 14
FIRST_JUMP = UNDERPROMOTIONS + 4 * AXIS_PLANES
PLANES = FIRST_JUMP + 8
CASTLE_LEFT = SQUARES * PLANES
CASTLE_RIGHT = CASTLE_LEFT + 1
ACTIONS = CASTLE_RIGHT + 1

ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
NONE, ONE = np.uint64(0), np.uint64(1)
RANK_1, RANK_3, RANK_6, RANK_8 = (np.uint64(0xFF << 8 * rank) for rank in (0, 2, 5, 7))
DARK = np.uint64(0xAA55AA55AA55AA55)
FILE_A, FILE_B, FILE_G, FILE_H = (np.uint64(0x0101010101010101 << file) for file in (0, 1, 6, 7))

#: By direction: how far a set is rotated for a step, and the squares where a step may end.
TURNS = tuple(np.uint64(int(shift) % 64) for shift in SHIFTS)
INSIDE = (
    ~RANK_1, ~RANK_8, ~FILE_A, ~FILE_H,
    ~(FILE_A | RANK_1), ~(FILE_H | RANK_8), ~(FILE_A | RANK_8), ~(FILE_H | RANK_1),
)  # fmt: skip
#: The same for the jumps of a knight.
JUMP_TURNS = tuple(np.uint64(int(jump) % 64) for jump in JUMPS)
_LEFT_2, _RIGHT_2 = ~(FILE_G | FILE_H), ~(FILE_A | FILE_B)
_UP_2, _DOWN_2 = (~np.uint64(rows) for rows in (0xFFFF, 0xFFFF << 48))
JUMP_INSIDE = (
    _LEFT_2 & ~RANK_8, _LEFT_2 & ~RANK_1, ~FILE_H & _DOWN_2, ~FILE_H & _UP_2,
    _RIGHT_2 & ~RANK_8, _RIGHT_2 & ~RANK_1, ~FILE_A & _DOWN_2, ~FILE_A & _UP_2,
)  # fmt: skip

#: The squares that a plane leads further, in the numbers of bits.
LEADS = np.array(
    [8, 9, 7] * 3
    + [int(SHIFTS[2 * axis]) * by for axis in range(4) for by in (*range(-7, 0), *range(1, 8))]
    + JUMPS.tolist()
)


@helper
def turned(squares: np.uint64, by: np.uint64) -> np.uint64:
    """Return a word rotated to the left."""
    return squares << by | squares >> (np.uint64(64) - by)


@helper
def action_from(source: int, plane: int) -> int:
    """Return the action of a plane for the piece on a square."""
    return ((source & 7) * SIDE + (source >> 3)) * PLANES + plane


@helper
def source_of(action: int) -> int:
    """Return the square of the piece that an action moves, except for castling."""
    place = action // PLANES
    return (place & 7) * SIDE + (place >> 3)
