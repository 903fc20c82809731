"""Gomoku: five in a row on a square board, with the rules and kernels of `mnk`.

`gomoku` is what tournaments of engines call freestyle, `gomoku(exact=true)` what they call standard
gomoku.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from playout.games import Option
from playout.games.mnk import MAX_SIDE, MNK


class Gomoku(MNK):
    """`connect` in a row on a square board."""

    title = "Five in a row"

    about = (
        "Players take turns to put a stone on an empty cell of a square board. The first player "
        "with five or more in a row, vertically, horizontally or diagonally, wins; with `exact`, "
        "the first with exactly five. Every empty cell is a legal move. A full board without a "
        "winner is a tie."
    )
    groups = ("classics", "rows")
    first_steps = (
        "Click a point to put a stone there. You win with five in a row. Answer three in a row "
        "with open ends at once: four with both ends open cannot be stopped. Look for a stone "
        "that makes two threats at the same time."
    )
    variants: ClassVar = {
        "exact=true": "More than five in a row do not win.",
        "size=20": "The board of Gomocup, the tournament of programs.",
    }

    def __init__(
        self,
        size: Annotated[int, Option("rows and columns", ge=1, le=MAX_SIDE)] = 15,
        connect: Annotated[int, Option("stones in a row that win, 1 to the size")] = 5,
        exact: Annotated[bool, Option("whether more stones in a row do not win")] = False,
    ) -> None:
        Option(ge=1, le=size).check("gomoku", "connect", connect)
        super().__init__(size, size, connect, exact)
