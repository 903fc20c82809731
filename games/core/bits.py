"""Sets of cells as the bits of a word: the operations that games share, for compiled code."""

from __future__ import annotations

import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros

from games.core.kernels import helper


@helper
def lowest(cells: int) -> int:
    """Return the number of the lowest bit that is set."""
    return np.int64(trailing_zeros(cells))  # type: ignore[return-value]


@helper
def without_lowest(cells: int) -> int:
    """Return the cells without the lowest one."""
    return cells & (cells - 1)


@helper
def count(cells: int) -> int:
    """Return how many bits are set; the compiler makes one instruction of it."""
    n = 0
    while cells:
        cells &= cells - 1
        n += 1
    return n
