"""Gomoku: five in a row on a square board, six count too; the rules and kernels of `mnk`."""

from __future__ import annotations

from games import checked
from games.mnk import MAX_SIDE, MNK


class Gomoku(MNK):
    """`connect` in a row on a square board."""

    def __init__(self, size: int = 15, connect: int = 5) -> None:
        checked("gomoku", "size", size, 1, MAX_SIDE)
        checked("gomoku", "connect", connect, 1, size)
        super().__init__(size, size, connect)
