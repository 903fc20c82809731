"""The loops of random playouts, for games that need no faster one of their own.

A `playout` kernel calls one of them with functions of the game. Numba compiles the loop into the
kernel, so that the functions cost no more than code in their place; `choose` is an
`inlined_helper`, without which a playout takes up to a tenth longer.

Other games have loops of their own, which are faster: they keep the board in local variables, or
use what the choice of an action has found out when they play it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from playout.games.core.kernels import Board, Vector, inlined
from playout.games.core.random import GAMMA, Rng, below


@inlined
def random_playout(
    board: Board,
    rng: Rng,
    trace: Vector,
    choose: Callable[[Board, np.uint64], int],
    play: Callable[[Board, int], None],
) -> int:
    """Play random actions to the end, into `trace`; return their number.

    `choose(board, state)` returns a legal action, all with the same probability. It draws once from
    the generator state.
    """
    ply, state = 0, rng[0]
    while board[1] == 0:
        state += GAMMA
        action = choose(board, state)
        trace[ply] = action
        play(board, action)
        ply += 1
    rng[0] = state
    return ply


@inlined
def shuffled_playout(
    board: Board,
    rng: Rng,
    trace: Vector,
    ply: int,
    end: int,
    put: Callable[[Board, int, int], bool],
) -> int:
    """Play the actions from `ply` to `end` of `trace` in random order until one wins.

    The players alternate. `put(board, player, action)` puts a stone and returns whether it wins.
    Returns where the actions that were played end. Without a winner, the outcome stays as it was.
    """
    player, state = board[0], rng[0]
    while ply < end:
        state += GAMMA
        pick = ply + below(state, end - ply)
        action = trace[pick]
        trace[pick] = trace[ply]
        trace[ply] = action
        ply += 1
        won = put(board, player, action)
        player = 3 - player
        if won:
            board[1] = 3 - player
            break
    rng[0] = state
    board[0] = player
    return ply
