"""Values of leaves by playouts, against the exact mean of random play."""

from __future__ import annotations

import functools
import random

import numpy as np

from playout import games
from playout.games import KernelGame, State
from playout.players.mcts.simulation import new_leaves, new_memory
from playout.players.training.self_play import evaluate_by_playouts

GAME = games.load("tic_tac_toe")
PLAYOUTS = 2000


@functools.cache
def mean_result(state: State) -> float:
    """The mean result for player 1 if both players draw each move evenly."""
    actions = GAME.legal_actions(state)
    if not actions:
        return {1: 1.0, 2: -1.0}.get(GAME.winner(state), 0.0)
    return sum(mean_result(GAME.next_state(state, action)) for action in actions) / len(actions)


def test_the_value_is_the_mean_result_of_random_play_for_the_player_to_move() -> None:
    assert isinstance(GAME, KernelGame)
    draw, states = random.Random(3), list[State]()
    while len(states) < 40:
        state = GAME.initial_state()
        for _ in range(draw.randrange(7)):
            if actions := GAME.legal_actions(state):
                state = GAME.next_state(state, draw.choice(actions))
        if GAME.legal_actions(state):
            states.append(state)
    kernels, board = (GAME.kernels.read, GAME.kernels.playout), GAME.board()
    memory = new_memory(GAME, len(board), seed=1)
    leaves, sums = new_leaves(GAME, len(states)), np.zeros(len(states))
    leaves.states[:] = states
    leaves.player[:] = leaves.states[:, 0]
    leaves.values[:] = np.nan
    for _ in range(PLAYOUTS):
        evaluate_by_playouts(memory, leaves, board.copy(), 39, board, *kernels)
        assert set(leaves.values[:39]) <= {-1.0, 0.0, 1.0}
        sums += leaves.values
    expected = [mean_result(state) * (1 if state[0] == 1 else -1) for state in states]
    assert {state[0] for state in states} == {1, 2}
    assert np.ptp(expected) > 1
    assert np.abs(sums / PLAYOUTS - expected)[:39].max() < 5 / np.sqrt(PLAYOUTS)
    assert np.isnan(leaves.values[39])  # is no leaf
