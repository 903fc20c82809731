"""UCT: Monte Carlo tree search with UCB1."""

from __future__ import annotations

from typing import Annotated, Any

from playout.games import Game, Option
from playout.players.core.player import Exploration
from playout.players.mcts.searcher import PlayoutSearch
from playout.players.mcts.selection import TUNED, UCB1, UNTRIED_FIRST, Selection


class UCT(PlayoutSearch):
    """Upper confidence bounds applied to trees (Kocsis & Szepesvári 2006)."""

    plays_chance = True

    def __init__(
        self,
        game: Game,
        /,
        c: Exploration = 0.5,
        tuned: Annotated[
            bool, Option("whether the variance of the results counts (UCB1-tuned)")
        ] = False,
        fpu: Annotated[
            float,
            Option(
                "first-play urgency, the score of an untried action; above 1, every action is "
                "tried once before any is tried twice"
            ),
        ] = UNTRIED_FIRST,
        **options: Any,
    ) -> None:
        super().__init__(game, Selection(TUNED if tuned else UCB1, c, fpu), **options)
