"""The board of Othello for compiled code.

After the player to move and the outcome come the discs of player 1, those of player 2, the size,
whether players pass, and the cells in play. Discs are the bits of a word, eight per row for every
size: cell (row, column) is bit 8 * row + column. Words are stored as int64 and processed as uint64.

Boards above 8x8 keep the cells of a state instead, after these numbers, with an empty border: cell
(row, column) is number `FIRST + row * STRIDE + column`.
"""

from __future__ import annotations

from games.core.kernels import helper

SIZE, PASSES, CELLS = 4, 5, 6

MAX_SIDE = 16
#: The largest side whose cells are bits of a word.
SMALL = 8
STRIDE = MAX_SIDE + 2
FIRST = 7 + STRIDE + 1


@helper
def winner(lead: int) -> int:
    """Return the outcome of a finished game; player 1 has `lead` discs more than player 2."""
    return -1 if lead == 0 else 1 if lead > 0 else 2
