"""Decisive playouts: who can win at once does, who cannot does not let the other, if it can be."""

from __future__ import annotations

import random

import numpy as np
import pytest

import games
from games import Game, KernelGame, State
from games.core.random import seeded

SPECS = (
    "tic_tac_toe",
    "connect_four",
    "mnk(m=5,n=4,k=3)",
    "mnk(m=3,n=6,k=3)",
    "mnk(m=6,n=6,k=4)",
    "gomoku(size=5,connect=4)",
    "ultimate_tic_tac_toe",
    "othello(size=4)",
    "nim",
)


def decisive_games() -> list[str]:
    loaded = [games.load(spec) for spec in SPECS]
    return [str(g) for g in loaded if isinstance(g, KernelGame) and g.kernels.decisive]


def winning(game: Game, state: State) -> list[int]:
    """The actions that win at once."""
    mover = game.current_player(state)
    return [
        action
        for action in game.legal_actions(state)
        if game.winner(game.next_state(state, action)) == mover
    ]


def safe(game: Game, state: State) -> list[int]:
    """The actions after which the other cannot win at once."""
    followings = {action: game.next_state(state, action) for action in game.legal_actions(state)}
    return [action for action, following in followings.items() if not winning(game, following)]


def check_move(game: Game, state: State, action: int) -> None:
    assert action in (winning(game, state) or safe(game, state) or game.legal_actions(state)), (
        game.show(state)
    )


@pytest.mark.parametrize("spec", decisive_games())
def test_every_move_of_a_decisive_playout_is_sensible(spec: str) -> None:
    game, choose = games.load(spec), random.Random(1)
    assert isinstance(game, KernelGame)
    assert game.kernels.decisive
    rng, trace = seeded(1), np.empty(game.max_plies + 1, dtype=np.int64)
    for _ in range(10_000 // game.num_actions**2 + 20):
        # From a position after random moves, to see more than sensible play leads to.
        state = game.initial_state()
        for _ in range(choose.randrange(game.max_plies)):
            following = game.next_state(state, choose.choice(game.legal_actions(state)))
            if game.winner(following):
                break
            state = following
        board = game.board(state)
        for action in trace[: game.kernels.decisive(board, rng, trace)].tolist():
            check_move(game, state, action)
            state = game.next_state(state, action)
        assert game.state(board) == state
        assert game.winner(state)
