"""The board of Go for compiled code.

A board is a header, a record of eight words for each point, the hashes of the positions so far, and
a filter of these. A point is the index of its record, so that the next point of a row is eight
further; a border of points surrounds the board, one column between two rows. The word at a point is
its colour. The other words of a record are working memory: `MARK` and `STACK` for `position`, which
leaves them 0, and the rest for `chains`, which sets them again for each use.
"""

from __future__ import annotations

import random

import numpy as np

from playout.games.core.kernels import Board, helper

MAX_SIDE = 19

#: The header, after the player to move and the outcome.
PLY, LAST, KO, HASH, SEEN = 2, 3, 4, 5, 6
SIZE, STRIDE, RECIPROCAL, KOMI, SUPERKO, POSITIONS = 7, 8, 9, 10, 11, 12
#: In playouts, the number of empty points, and the stones of Black less those of White.
EMPTIES, LEAD = 13, 14
#: The distances to the four neighbours of a point, then to the four diagonal ones.
STEPS = 16
#: The record of the first border point.
FIRST = 32
#: The words of a record after the colour.
HEAD, NEXT, LIBERTIES, LISTED, PLACE, MARK, STACK = range(1, 8)

EMPTY, BLACK, WHITE, BORDER = 0, 1, 2, 3
#: The head of points without a stone.
NO_CHAIN = FIRST
#: A pass in the place of a point; no point at all is 0.
PASS = 1

#: Words of the filter: a bit for the lowest bits of each hash.
FILTER_WORDS = 64
FILTER_BITS = 64 * FILTER_WORDS - 1

_POINTS = (MAX_SIDE + 1) * (MAX_SIDE + 2) + 1 + FIRST // 8
_bits = random.Random("Go")
#: Random numbers by point and colour (Zobrist 1970). They have 53 bits, so that they are exact for
#: readers of JSON that know only floating-point numbers.
_ZOBRIST = np.array([_bits.getrandbits(53) for _ in range(2 * _POINTS)], dtype=np.int64)


def points(size: int) -> int:
    """Return the number of records of a board: its points, and those of the border."""
    return (size + 1) * (size + 2) + 1


def board_words(size: int) -> int:
    """Return the length of a board."""
    return FIRST + 8 * points(size) + 2 * size * size + FILTER_WORDS


def header_of(size: int, twice_komi: int, superko: bool) -> dict[int, int]:
    """Return the words of a board that never change, by their indices."""
    stride = size + 1
    header = {SIZE: size, STRIDE: stride, RECIPROCAL: (1 << 16) // stride + 1}
    header |= {KOMI: twice_komi, SUPERKO: int(superko), POSITIONS: FIRST + 8 * points(size)}
    steps = (-stride, -1, 1, stride, -stride - 1, stride - 1, -stride + 1, stride + 1)
    header |= {STEPS + k: 8 * step for k, step in enumerate(steps)}
    for point in range(FIRST, FIRST + 8 * points(size), 8):
        row, column = divmod((point - FIRST) // 8, stride)
        inside = 1 <= row <= size and column >= 1
        header |= {point: EMPTY if inside else BORDER, point + HEAD: NO_CHAIN}
    return header


@helper
def stone_key(point: int, colour: int) -> int:
    """Return the random number of a stone; the hash of a position is the XOR of its stones."""
    return _ZOBRIST[np.uint64((point >> 3 << 1) + colour - 1)]


@helper
def point_at(board: Board, row: int, column: int) -> int:
    """Return the point at a row and column, which count from 0; -1 and the size are the border."""
    return FIRST + 8 * ((row + 1) * board[STRIDE] + column + 1)


@helper
def point_of(board: Board, action: int) -> int:
    """Return the point of an action that is no pass."""
    row = action // board[SIZE]
    return point_at(board, row, action - row * board[SIZE])


@helper
def action_of(board: Board, point: int) -> int:
    """Return the action that plays on a point, or passes."""
    size = board[SIZE]
    if point == PASS:
        return size * size
    place = (point - FIRST) >> 3
    row = place * board[RECIPROCAL] >> 16  # place // stride, exact for every point of 19x19
    return place - row - size - 1
