"""UCT: Monte Carlo tree search with UCB1."""

from __future__ import annotations

from typing import Any, ClassVar

from playout.games import Game
from playout.players.mcts.searcher import PlayoutSearch
from playout.players.mcts.selection import TUNED, UCB1, UNTRIED_FIRST, Selection


class UCT(PlayoutSearch):
    """Upper confidence bounds applied to trees (Kocsis & Szepesvári 2006).

    `c` weighs exploration; `tuned` uses the variance (UCB1-tuned); `fpu`, first-play urgency, is
    the score of an untried action: above 1, every action is tried once before any is tried twice.
    """

    about_options: ClassVar = {
        "c": "weight of exploration, 0 or more",
        "tuned": "whether the variance of the results counts (UCB1-tuned)",
        "fpu": "score of an untried action; above 1, every action is tried once at first",
    }

    def __init__(
        self,
        game: Game,
        /,
        c: float = 0.5,
        tuned: bool = False,
        fpu: float = UNTRIED_FIRST,
        **options: Any,
    ) -> None:
        self._require(c >= 0, f"c must be 0 or more, not {c}")
        super().__init__(game, Selection(TUNED if tuned else UCB1, c, fpu), **options)
