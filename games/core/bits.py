"""Sets of cells as the bits of a word: the operations that games share, for compiled code.

A word is int64 or uint64; `without_lowest` is for int64 only.
"""

from __future__ import annotations

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros

from playout.games.core.kernels import helper

_1 = np.uint64(1)


@helper
def lowest(cells: int | np.uint64) -> int:
    """Return the number of the lowest bit that is set."""
    return np.int64(trailing_zeros(cells))  # type: ignore[return-value]


@helper
def without_lowest(cells: int) -> int:
    """Return the cells without the lowest one."""
    return cells & (cells - 1)


@helper
def count(cells: int | np.uint64) -> int:
    """Return how many bits are set; the compiler makes one instruction of it."""
    n = 0
    rest = np.uint64(cells)
    while rest:
        rest &= rest - _1
        n += 1
    return n


@helper
def nth(cells: int | np.uint64, n: int) -> int:
    """Return the number of the n-th bit that is set, counted from 0."""
    rest = np.uint64(cells)
    for _ in range(n):
        rest &= rest - _1
    return np.int64(trailing_zeros(rest))  # type: ignore[return-value]
