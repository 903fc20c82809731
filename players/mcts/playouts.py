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

from games.core.kernels import SIGNATURES, compiled
from games.core.random import Rng
from players.mcts.puct import BOARDS, LEAVES, RNG, VALUES, Boards, Leaves

_READ, _PLAYOUT = (types.FunctionType(SIGNATURES[name]) for name in ("read", "playout"))


@compiled(
    types.void(
        *(LEAVES, types.int64, types.int64[::1], _READ, _PLAYOUT),
        *(RNG, BOARDS, VALUES),
    ),
    allocates=False,
)
def evaluate_by_playouts(
    leaves: Leaves,
    n: int,
    origin: Any,
    read: Callable[..., None],
    playout: Callable[..., int],
    rng: Rng,
    boards: Boards,
    values: Any,
) -> None:
    """Set the values of the first n leaves: a result, 1, 0 or -1 for the player to move.

    `origin` is the board of the first position.
    """
    for leaf in range(n):
        for i in range(len(origin)):
            boards.board[i] = origin[i]
        read(leaves.states[leaf], boards.board)
        playout(boards.board, rng, boards.trace)
        outcome = boards.board[1]
        points = 1 if outcome == leaves.player[leaf] else -1
        values[leaf] = np.float32(points if outcome > 0 else 0)
