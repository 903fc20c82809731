"""Patterns of three by three points around an empty point that good moves of Go often match.

They are those of MoGo's playouts (Gelly, Wang, Munos & Teytaud 2006, figures 2 to 5): hane, cuts,
and moves at the border. `table` has a bit for each player and each of the 4^8 neighbourhoods.
"""

from __future__ import annotations

import functools
import itertools

import numpy as np
from numpy.typing import NDArray

from games.core.kernels import Board, helper
from games.goban.layout import BLACK, BORDER, EMPTY, STEPS, WHITE

#: The rows of each pattern. X and O are stones of two players, either of which is to move; x and o
#: are anything but such a stone; a dot is an empty point, # the border, and ? anything.
_PATTERNS = (
    ("XOX", "...", "???"),  # hane: enclosing
    ("XO.", "...", "?.?"),  # hane: not cutting
    ("XO?", "X..", "x.?"),  # hane: magari
    (".O.", "X..", "..."),  # a diagonal attachment
    ("XO?", "O.o", "?o?"),  # a cut that is not protected
    ("XO?", "O.X", "???"),  # a cut that is peeped at
    ("?X?", "O.O", "ooo"),  # a cut between two stones
    ("OX?", "o.O", "???"),  # a cut at a knight's move
    ("X.?", "O.?", "###"),  # at the border: a chase
    ("OX?", "X.O", "###"),  # at the border: to prevent a cut
    ("?X?", "x.O", "###"),  # at the border: to prevent a connection
    ("?XO", "x.x", "###"),  # at the border: to descend
    ("?OX", "X.O", "###"),  # at the border: a cut
)
_ALLOWED = {
    ".": {EMPTY},
    "X": {BLACK},
    "O": {WHITE},
    "x": {EMPTY, WHITE, BORDER},
    "o": {EMPTY, BLACK, BORDER},
    "#": {BORDER},
    "?": {EMPTY, BLACK, WHITE, BORDER},
}
#: The rows and columns of the neighbours in the order of STEPS.
_NEIGHBOURS = ((0, 1), (1, 0), (1, 2), (2, 1), (0, 0), (2, 0), (0, 2), (2, 2))


def table() -> NDArray[np.bool_]:
    """Return whether each neighbourhood matches a pattern, by two bits for each neighbour."""
    found = np.zeros((4,) * 8, dtype=np.bool_)
    for pattern, swapped in itertools.product(_PATTERNS, (False, True)):
        for grid in _images(np.array([list(row) for row in pattern])):
            allowed = [_colours(grid[place], swapped) for place in reversed(_NEIGHBOURS)]
            found |= functools.reduce(np.logical_and.outer, allowed)
    return found.reshape(-1)


def _images(grid: NDArray[np.str_]) -> list[NDArray[np.str_]]:
    turned = [np.rot90(grid, k) for k in range(4)]
    return turned + [np.fliplr(each) for each in turned]


def _colours(letter: str, swapped: bool) -> NDArray[np.bool_]:
    """Return for each colour whether a letter allows it, with the players swapped or not."""
    order = (EMPTY, WHITE, BLACK, BORDER) if swapped else (EMPTY, BLACK, WHITE, BORDER)
    return np.array([colour in _ALLOWED[letter] for colour in order])


_TABLE = table()


@helper
def matches(board: Board, point: int) -> bool:
    """Return whether the neighbourhood of a point matches a pattern."""
    code = 0
    for k in range(8):
        code |= board[point + board[STEPS + k]] << 2 * k
    return _TABLE[code]
