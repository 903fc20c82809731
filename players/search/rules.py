"""What a search plays by: the compiled kernels of a game, or any game through its tuples.

Both have the same three functions over a board that can be copied by `board[:] = other`: an int64
vector for kernels, a list that holds the flat state for a game in plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from games import Game, KernelGame, State
from games.core.random import Rng, draw


class Rules(NamedTuple):
    """See `games.core.kernels` for what the functions do."""

    board: Callable[[State], Any]
    legal: Callable[..., int]
    play: Callable[..., None]
    playout: Callable[..., int]
    compiled: bool


def rules_of(game: Game) -> Rules:
    """The rules of `game`, compiled where it has kernels."""
    if isinstance(game, KernelGame):
        kernels = game.kernels
        return Rules(game.board, kernels.legal, kernels.play, kernels.playout, True)
    return _interpreted(game)


def _interpreted(game: Game) -> Rules:
    def legal(board: list[int], actions: NDArray[np.int64]) -> int:
        found = game.legal_actions(tuple(board))
        actions[: len(found)] = found
        return len(found)

    def play(board: list[int], action: int) -> None:
        board[:] = game.next_state(tuple(board), int(action))

    def playout(board: list[int], rng: Rng, trace: NDArray[np.int64]) -> int:
        state, ply = tuple(board), 0
        while actions := game.legal_actions(state):
            trace[ply] = actions[draw(rng, len(actions))]
            state = game.next_state(state, int(trace[ply]))
            ply += 1
        board[:] = state
        return ply

    return Rules(list, legal, play, playout, False)
