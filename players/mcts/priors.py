"""Evaluation of leaves by random playouts, in the place of a net that has not learned yet.

A net with random weights tells a search nothing: in a long game both players then move almost at
random, and the result says little about the positions. Playouts tell more and take less time
(Wang, Preuss & Plaat 2020, "Warm-Start AlphaZero Self-Play Search Enhancements").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from playout.games.core.kernels import SIGNATURES, compiled
from playout.players.mcts.puct_simulation import NET_BUFFERS, NetBuffers

# Noise in the policy of a root, so that self-play tries actions that the net thinks little of.


def policy_of(logits: NDArray[np.float32], legal: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the probabilities of the legal actions, in their order; `logits` is [action]."""
    weights = np.exp(logits[legal] - logits[legal].max())
    return weights / weights.sum()


def add_noise(
    logits: NDArray[np.float32],
    legal: NDArray[np.int64],
    weight: float,
    concentration: float,
    rng: np.random.Generator,
) -> None:
    """Mix Dirichlet noise into the policy of the legal actions (Silver et al. 2017).

    `logits` [action] are changed in place; `weight` is the share of the noise, from 0 to 1. Each of
    n legal actions has the parameter alpha = concentration / n.
    """
    policy = policy_of(logits, legal)
    noise = rng.dirichlet(np.full(len(legal), concentration / len(legal)))
    logits[legal] = np.log((1 - weight) * policy + weight * noise + 1e-9)


_READ, _PLAYOUT = (types.FunctionType(SIGNATURES[name]) for name in ("read", "playout"))


@compiled(
    types.void(NET_BUFFERS, types.int64, types.int64[::1], _READ, _PLAYOUT),
    allocates=False,
)
def evaluate_by_playouts(
    buffers: NetBuffers,
    n: int,
    origin: Any,
    read: Callable[..., None],
    playout: Callable[..., int],
) -> None:
    """Set the values of the first n leaves: a result, 1, 0 or -1 for the player to move.

    `origin` is the board of the first position.
    """
    board, leaves = buffers.board, buffers.leaves
    for leaf in range(n):
        for i in range(len(origin)):
            board[i] = origin[i]
        read(leaves.states[leaf], board)
        playout(board, buffers.rng, buffers.trace)
        outcome = board[1]
        points = 1 if outcome == leaves.player[leaf] else -1
        leaves.values[leaf] = np.float32(points if outcome > 0 else 0)
