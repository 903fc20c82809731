"""The transposition table of minimax: what is known of a position, found by a 64-bit key.

A row is a key and a word. The word holds the winner, if that is proven, and for each player for
how many plies it is known not to win; such facts hold whatever search found them. Four rows, a
line of the processor's cache, make a bucket: the row of an older search goes first, then the one
that cost least to find.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from games.core.kernels import compiled

Rows = NDArray[np.int64]

#: Results of a test whether a player wins: it does, or it does not within so many plies.
WIN, NEVER = -1, 4095

_BUCKET = 4
_BYTES_PER_ROW = 16
# winner: 2 bits, lasts: 12 bits for each player, move + 1, age, log2 of the nodes it took
_LASTS, _MOVE, _AGE, _EFFORT = (-10, 2, 14), 26, 46, 54
#: What fits into the bits between those places.
MOST_MOVES, _AGES = (1 << 20) - 2, 255

_ROWS = types.int64[:, ::1]


def new_table(megabytes: int) -> Rows:
    """Rows for at most so many megabytes, a power of two of them.

    They are written to, so that no page of them has to be found in the middle of a move.
    """
    rows = 1 << (megabytes * 2**20 // _BYTES_PER_ROW).bit_length() - 1
    return np.full((rows, 2), 0, dtype=np.int64)


@compiled(types.int64(_ROWS, types.int64), allocates=False)
def find(rows: Rows, key: int) -> int:
    """The word of a position, 0 if there is none."""
    bucket = (key & (len(rows) // _BUCKET - 1)) * _BUCKET
    for row in range(bucket, bucket + _BUCKET):
        if rows[row, 0] == key:
            return rows[row, 1]
    return 0


@compiled("int64(int64, int64)", allocates=False)
def lasts(word: int, attacker: int) -> int:
    """What the word says on whether `attacker` wins: WIN, or for how many plies it does not."""
    winner = word & 3
    if winner == attacker:
        return WIN
    return NEVER if winner else word >> _LASTS[attacker] & NEVER


@compiled("int64(int64)", allocates=False)
def winner(word: int) -> int:
    """Who is proven to win, 0 if nobody is."""
    return word & 3


@compiled("int64(int64)", allocates=False)
def move(word: int) -> int:
    """The action that decided, -1 if none did."""
    return (word >> _MOVE & MOST_MOVES + 1) - 1


@compiled("int64(int64)", allocates=False)
def effort(word: int) -> int:
    """About how many nodes it took: a power of two."""
    return 1 << (word >> _EFFORT & 63)


@compiled(types.void(*[_ROWS] + [types.int64] * 6), allocates=False)
def store(
    rows: Rows, key: int, attacker: int, result: int, action: int, number: int, nodes: int
) -> None:
    """Add to what is known: `result` for `attacker`, decided by `action` (or -1) in `nodes`.

    Rows stored under another `number` (of the search) are of less worth.
    """
    bucket = (key & (len(rows) // _BUCKET - 1)) * _BUCKET
    place, least, word = bucket, 1 << 30, 0
    for row in range(bucket, bucket + _BUCKET):
        if rows[row, 0] == key:
            place, word = row, rows[row, 1]
            break
        worth = rows[row, 1] >> _EFFORT & 63
        if rows[row, 1] >> _AGE & _AGES == number & _AGES:
            worth += 64
        if worth < least:
            place, least = row, worth
    if action < 0:
        action = move(word)
    log = word >> _EFFORT & 63
    while nodes >> log > 1:
        log += 1
    facts = word & (1 << _MOVE) - 1
    if result == WIN:
        facts |= attacker
    else:
        known = max(result, facts >> _LASTS[attacker] & NEVER)
        facts = facts & ~(NEVER << _LASTS[attacker]) | known << _LASTS[attacker]
    rows[place, 0] = key
    rows[place, 1] = facts | action + 1 << _MOVE | (number & _AGES) << _AGE | log << _EFFORT
