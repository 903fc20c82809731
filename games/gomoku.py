"""Gomoku: five in a row on a square board, six count too; the rules and kernels of `mnk`."""

from __future__ import annotations

from typing import ClassVar

from games import checked
from games.mnk import MAX_SIDE, MNK


class Gomoku(MNK):
    """`connect` in a row on a square board."""

    about = (
        "Players take turns to put a stone on an empty cell of a square board. Who first has five "
        "in a row, upright, level or diagonal, wins; six count too, and nothing else is forbidden. "
        "A full board without them is a tie."
    )
    about_parameters: ClassVar = {
        "size": f"rows and columns, 1 to {MAX_SIDE}",
        "connect": "how many in a row win, at most as many as the size",
    }

    def __init__(self, size: int = 15, connect: int = 5) -> None:
        checked("gomoku", "size", size, 1, MAX_SIDE)
        checked("gomoku", "connect", connect, 1, size)
        super().__init__(size, size, connect)
