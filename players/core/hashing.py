"""A 64-bit key of a position, for hash tables."""

from __future__ import annotations

import numpy as np

from games import Board
from games.core.kernels import compiled

_START, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
_32 = np.uint64(32)


@compiled("int64(int64[::1])", allocates=False)
def board_key(board: Board) -> int:
    """Return a 64-bit hash of all the words of a board.

    Every intermediate value has 64 bits, so that no two boards collide by a narrower sum.
    """
    key = _START
    for i in range(len(board)):
        key = (key ^ np.uint64(board[i])) * _MIX
        key ^= key >> _32
    return np.int64(key)  # type: ignore[return-value]
