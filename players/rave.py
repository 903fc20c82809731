"""RAVE: UCT that also learns from the later moves of each simulation."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from playout.games import Game, KernelGame, Option, SpecError
from playout.players.evaluations import files
from playout.players.evaluations.placements import new_placements
from playout.players.mcts.searcher import PlayoutSearch
from playout.players.mcts.selection import (
    HAND_SELECTED,
    MINIMUM_MSE,
    RAVE,
    UNTRIED_FIRST,
    Selection,
)
from playout.players.mcts.tree import MAX_SIMULATIONS

#: The weight of exploration in games that assume no results.
EXPLORATION = 0.2
#: Visits that what an evaluation expects is worth, with a `prior` of 1.
EXPECTED = 30
SCHEDULES = {"hand": HAND_SELECTED, "mse": MINIMUM_MSE}


class Rave(PlayoutSearch):
    """Rapid action value estimation (Gelly & Silver 2011), for games of placing stones.

    The score of an action combines its own results with those of all simulations in which the
    player chose it later. With the `schedule` `hand`, the hand-selected one, both weigh the same at
    `k` visits; `mse` minimizes the mean square error for the given `bias`. Results that the game
    assumes before the first visit of an action, as Go does, count with the weight `prior` (Gelly &
    Silver 2007). In games whose actions place stones, an `evaluation` says which results to assume
    from the fourth visit of a position on.
    """

    def __init__(
        self,
        game: Game,
        /,
        k: Annotated[
            float,
            Option("number of visits at which both results weigh the same, for `hand`", gt=0),
        ] = 1000.0,
        schedule: Annotated[
            Literal["hand", "mse"],
            Option(
                "weight of the results of later moves: `hand`, by the visits of the node, or "
                "`mse`, by those of the action, with the least mean square error"
            ),
        ] = "hand",
        bias: Annotated[
            float, Option("assumed bias of the results of later moves, for `mse`")
        ] = 0.1,
        c: Annotated[
            float | None,
            Option(
                "weight of exploration",
                ge=0,
                default=f"{EXPLORATION}; in games that assume results 0, unless `prior` is 0",
            ),
        ] = None,
        fpu: Annotated[
            float, Option("score of an action without any results, also of later moves")
        ] = UNTRIED_FIRST,
        near_first: Annotated[
            bool | None,
            Option(
                "whether actions next to stones are tried first",
                default="true in games that define neighbours",
            ),
        ] = None,
        prior: Annotated[
            float,
            Option("weight of the results that the game or the evaluation assumes", ge=0),
        ] = 1.0,
        evaluation: Annotated[
            str,
            Option(
                "file of an evaluation, or `shipped`, by which results are assumed", default="none"
            ),
        ] = "",
        **options: Any,
    ) -> None:
        if c is None:
            c = 0.0 if prior and _assumes_results(game) else EXPLORATION
        selection = Selection(RAVE, c, fpu, SCHEDULES[schedule], k, bias, prior)
        if near_first is None:
            near_first = hasattr(game, "neighbours")
        placements = None
        if evaluation:
            try:
                placements = new_placements(game, files.load(game, evaluation))
            except (files.EvaluationError, SpecError) as error:
                raise self._error(str(error)) from error
        expected = round(min(prior * EXPECTED, MAX_SIMULATIONS)) if placements else 0
        super().__init__(game, selection, placements, expected, near_first=near_first, **options)


def _assumes_results(game: Game) -> bool:
    """Return whether a game assumes results of actions before their first visit."""
    return isinstance(game, KernelGame) and game.kernels.prior is not None
