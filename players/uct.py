"""UCT: Monte Carlo tree search with UCB1."""

from __future__ import annotations

from typing import Any

from games import Game
from players.mcts.searcher import TreeSearch
from players.mcts.selection import HAND_SELECTED, TUNED, UCB1, UNTRIED_FIRST, Selection


class UCT(TreeSearch):
    """Upper confidence bounds applied to trees (Kocsis & Szepesvári 2006).

    `c` weighs exploration; `tuned` takes the variance into account (UCB1-tuned); `fpu`, first-play
    urgency, is the score of what was never tried: above 1 it is tried before anything twice.
    """

    def __init__(
        self,
        game: Game,
        /,
        c: float = 0.5,
        tuned: bool = False,
        fpu: float = UNTRIED_FIRST,
        **options: Any,
    ) -> None:
        self._require(c >= 0, f"c must not be negative, as {c} is")
        rule = TUNED if tuned else UCB1
        super().__init__(game, Selection(rule, c, fpu, HAND_SELECTED, 0.0, 0.0), **options)
