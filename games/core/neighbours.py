"""The cells beside others, in words with eight bits in a row, for compiled code."""

from __future__ import annotations

import numpy as np

from games.core.kernels import helper

_1, _8 = np.uint64(1), np.uint64(8)
_LEFT, _RIGHT = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)


@helper
def spread(cells: np.uint64) -> np.uint64:
    """Return the cells and all that are beside them, in the eight directions."""
    rows = cells | (cells & ~_RIGHT) << _1 | (cells & ~_LEFT) >> _1
    return rows | rows << _8 | rows >> _8
