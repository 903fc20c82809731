"""The loop that grows the tree: select, expand, play out, back up.

It is compiled once for all games: the rules come in as function pointers. The same source runs
uncompiled over a game in plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from games import Game
from games.core.kernels import SIGNATURES, compiled
from games.core.random import Rng, draw
from players.search.tree import ROOT, TREE, Tree, back_up, expand, select


class Scratch(NamedTuple):
    """Room to work in, made once."""

    actions: NDArray[np.int64]  # [legal actions]
    path: NDArray[np.int64]  # [depth] nodes from the root
    movers: NDArray[np.int64]  # [depth] who moved into them
    trace: NDArray[np.int64]  # [plies] of a playout


_VECTOR = types.int64[::1]
_SCRATCH = types.NamedUniTuple(_VECTOR, 4, Scratch)


def new_scratch(game: Game) -> Scratch:
    """Room enough for every match of `game`."""
    plies = max(game.max_plies, game.num_actions) + 1
    return Scratch(
        np.empty(game.num_actions + 1, dtype=np.int64),
        *(np.empty(plies, dtype=np.int64) for _ in range(3)),
    )


@compiled(
    types.int64(
        TREE,
        _VECTOR,
        _VECTOR,
        types.FunctionType(SIGNATURES["legal"]),
        types.FunctionType(SIGNATURES["play"]),
        types.FunctionType(SIGNATURES["playout"]),
        types.uint64[::1],
        _SCRATCH,
        types.float64,
        types.int64,
        types.int64,
    )
)
def grow(
    tree: Tree,
    root: Any,
    board: Any,
    legal: Callable[..., int],
    play: Callable[..., None],
    playout: Callable[..., int],
    rng: Rng,
    scratch: Scratch,
    c: float,
    max_plies: int,
    simulations: int,
) -> int:
    """Run simulations from the board `root`, on the board `board`; the greatest depth reached.

    `max_plies` above 0 cuts a playout off there and calls it a tie.
    """
    actions, path, movers, trace = scratch
    path[0] = ROOT
    movers[0] = 0
    deepest = 0
    for _ in range(simulations):
        board[:] = root
        node = ROOT
        depth = 0

        # Select, and expand what is visited for the second time.
        while board[1] == 0:
            if tree.children[node] == 0 and (
                tree.visits[node] == 0
                or not expand(tree, node, actions, legal(board, actions), rng)
            ):
                break
            node = select(tree, node, c)
            depth += 1
            path[depth] = node
            movers[depth] = board[0]
            play(board, tree.action[node])

        # Play out.
        if max_plies > 0:
            for _ in range(max_plies):
                if board[1] != 0:
                    break
                play(board, actions[draw(rng, legal(board, actions))])
        elif board[1] == 0:
            playout(board, rng, trace)

        back_up(tree, path, movers, depth, board[1])
        deepest = max(deepest, depth)
    return deepest
