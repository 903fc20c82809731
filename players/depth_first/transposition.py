"""The transposition table of minimax: results of positions by a 64-bit key.

A row is a key and a word. The word holds the winner, if proven, and for each player the number of
plies within which that player cannot win; both hold in every search. Four rows, one cache line,
form a bucket: a new position replaces a row of an older search first, then the row with the fewest
nodes.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from playout.games.core.kernels import compiled

Rows = NDArray[np.int64]

#: Results of a search whether a player wins: WIN, n (not within n plies) or NEVER.
WIN, NEVER = -1, 4095

_BUCKET = 4
_BYTES_PER_ROW = 16
# Bits: winner 2, safe plies 12 for each player, move + 1, age, log2 of the nodes of its search.
_SAFE_PLIES, _MOVE, _AGE, _EFFORT = (-10, 2, 14), 26, 46, 54
#: Greatest values that fit between those bit positions.
MAX_MOVES, _AGES = (1 << 20) - 2, 255

_ROWS = types.int64[:, ::1]


def new_table(megabytes: int) -> Rows:
    """Return an empty table of at most `megabytes`; the number of rows is a power of two.

    All rows are written once, so that the system allocates no pages during a search. Raises
    MemoryError, OverflowError or ValueError if the memory cannot be allocated.
    """
    rows = 1 << (megabytes * 2**20 // _BYTES_PER_ROW).bit_length() - 1
    return np.full((rows, 2), 0, dtype=np.int64)


@compiled(types.int64(_ROWS, types.int64), allocates=False)
def find(rows: Rows, key: int) -> int:
    """Return the word that is stored for a position, or 0."""
    bucket = (key & (len(rows) // _BUCKET - 1)) * _BUCKET
    for row in range(bucket, bucket + _BUCKET):
        if rows[row, 0] == key:
            return rows[row, 1]
    return 0


@compiled("int64(int64, int64)", allocates=False)
def known_result(word: int, attacker: int) -> int:
    """Return the result in a word: WIN, or the plies within which `attacker` cannot win."""
    winner = word & 3
    if winner == attacker:
        return WIN
    return NEVER if winner else word >> _SAFE_PLIES[attacker] & NEVER


@compiled("int64(int64)", allocates=False)
def winner(word: int) -> int:
    """Return the proven winner in a word, or 0."""
    return word & 3


@compiled("int64(int64)", allocates=False)
def move(word: int) -> int:
    """Return the action that decided the position, or -1."""
    return (word >> _MOVE & MAX_MOVES + 1) - 1


@compiled("int64(int64)", allocates=False)
def effort(word: int) -> int:
    """Return the approximate number of nodes of the search, a power of two."""
    return 1 << (word >> _EFFORT & 63)


@compiled(types.void(*[_ROWS] + [types.int64] * 6), allocates=False)
def store(
    rows: Rows, key: int, attacker: int, result: int, action: int, generation: int, nodes: int
) -> None:
    """Store `result` for `attacker`, which `action` (or -1) decided after `nodes` nodes.

    Rows of another `generation` are replaced first.
    """
    bucket = (key & (len(rows) // _BUCKET - 1)) * _BUCKET
    place, least, word = bucket, 1 << 30, 0
    for row in range(bucket, bucket + _BUCKET):
        if rows[row, 0] == key:
            place, word = row, rows[row, 1]
            break
        worth = rows[row, 1] >> _EFFORT & 63
        if rows[row, 1] >> _AGE & _AGES == generation & _AGES:
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
        known = max(result, facts >> _SAFE_PLIES[attacker] & NEVER)
        facts = facts & ~(NEVER << _SAFE_PLIES[attacker]) | known << _SAFE_PLIES[attacker]
    rows[place, 0] = key
    rows[place, 1] = facts | action + 1 << _MOVE | (generation & _AGES) << _AGE | log << _EFFORT
