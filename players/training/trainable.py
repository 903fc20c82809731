"""The games for which a net can be trained."""

from __future__ import annotations

from games import Game, KernelGame
from players.training.errors import TrainingError


def trainable(game: Game) -> KernelGame:
    """Return a game for which a net can be trained. Raises TrainingError for any other."""
    if not isinstance(game, KernelGame):
        raise TrainingError(
            f"{game}: training needs compiled rules, as all games that come with Playout have; "
            "see docs/writing-a-game.md"
        )
    view = game.view(game.initial_state())
    if any(view.kinds):
        raise TrainingError(
            f"{game}: has pieces of several kinds, and the input of a net does not tell them apart"
        )
    if view.counts:
        raise TrainingError(f"{game}: has several pieces on a cell, which a net is not told")
    return game
