"""RAVE: UCT that also learns from the later moves of each simulation."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from playout.games import Game, KernelGame, SpecError
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
    player chose it later. `schedule` sets the weight of the latter: `hand` is the hand-selected
    schedule, where both weigh the same at `k` visits; `mse` is the schedule of minimum mean square
    error, for the given `bias`. `c` weighs exploration; by default it is 0 if the game assumes
    results of each action before its first visit, as Go does, otherwise 0.2. `prior` weighs these
    results (Gelly & Silver 2007); 0 ignores them. `fpu` is the score of an action without results.
    `near_first` tries actions next to stones first; by default it is on for games that define
    neighbours. In games whose actions place stones, an `evaluation` says which results to assume
    from the fourth visit of a position on.
    """

    about_options: ClassVar = {
        "k": "visits at which both kinds of results weigh the same (schedule=hand), above 0",
        "schedule": "how the weight of later moves falls: hand or mse",
        "bias": "bias that schedule=mse assumes, a finite number",
        "c": "weight of exploration, 0 or more; by default 0.2, in games that assume results 0",
        "fpu": "score of an action without any results",
        "near_first": "whether actions next to stones are tried first; the default is the game's",
        "prior": "weight of the results that the game assumes before the first visit; 0 for none",
        "evaluation": "file of an evaluation, or `shipped`, by which results are assumed",
    }

    def __init__(
        self,
        game: Game,
        /,
        k: float = 1000.0,
        schedule: str = "hand",
        bias: float = 0.1,
        c: float | None = None,
        fpu: float = UNTRIED_FIRST,
        near_first: bool | None = None,
        prior: float = 1.0,
        evaluation: str = "",
        **options: Any,
    ) -> None:
        self._require(0 < k < math.inf, f"k must be a number above 0, not {k}")
        self._require(math.isfinite(bias), f"bias must be a number, not {bias}")
        self._require(schedule in SCHEDULES, f"schedule is hand or mse, not {schedule!r}")
        self._require(0 <= prior < math.inf, f"prior must be a number from 0 on, not {prior}")
        if c is None:
            c = 0.0 if prior and _assumes_results(game) else EXPLORATION
        self._require(c >= 0, f"c must be 0 or more, not {c}")
        selection = Selection(RAVE, c, fpu, SCHEDULES.get(schedule, HAND_SELECTED), k, bias, prior)
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
