"""Random playouts per second, on one core, against OpenSpiel's.

Both start from the first position of each game. Playouts run in a compiled loop, which copies the
board each time as the search does, so that calls from Python are not measured.

The peer is OpenSpiel's search in C++ (MCTSBot): one simulation with the measured number of
rollouts. OpenSpiel's `nim` has other rules, and is not compared.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyspiel
from numba import types

from playout import games
from playout.games import Board, KernelGame, Vector
from playout.games.core.kernels import SIGNATURES, compiled
from playout.games.core.random import Rng, seeded
from testbed.bench import Bench, Column, ResultTable
from testbed.measure import GAMES, alternate, rate
from testbed.openspiel import mcts

COLUMNS = (
    Column("game", "game"),
    Column("playouts", "playouts/s"),
    Column("peer", "OpenSpiel's"),
    Column("ratio", "ratio", ".1f"),
)

_VECTOR = types.int64[::1]


@compiled(
    types.int64(
        types.int64,
        _VECTOR,
        _VECTOR,
        types.FunctionType(SIGNATURES["playout"]),
        types.uint64[::1],
        _VECTOR,
    )
)
def play_out(
    count: int, root: Board, board: Board, playout: Callable[..., int], rng: Rng, trace: Vector
) -> int:
    """Play `count` playouts from `root`; return the total number of plies."""
    plies = 0
    for _ in range(count):
        board[:] = root
        plies += playout(board, rng, trace)
    return plies


def run(bench: Bench) -> list[ResultTable]:
    """Return a row per game."""
    table = ResultTable("Playouts per second from the first position", COLUMNS)
    rounds, seconds = bench.pick(5, 3), bench.pick(0.5, 0.06)
    for spec in bench.track(GAMES):
        measures = {"playouts": _ours(spec, seconds)}
        if spec != "nim":
            measures["peer"] = _peer(spec, seconds)
        for measure in measures.values():
            measure()  # to touch memory and warm the caches
        taken = alternate(rounds, **measures)
        ratio = taken["playouts"].over(taken["peer"]) if "peer" in taken else None
        table.add(game=spec, **taken, ratio=ratio)
    return [table]


def _ours(spec: str, seconds: float) -> Callable[[], float]:
    game = games.load(spec)
    assert isinstance(game, KernelGame)
    root, board, rng = game.board(), game.board(), seeded(1)
    trace = np.empty(game.max_plies + 1, dtype=np.int64)
    playout = game.kernels.playout
    return lambda: rate(lambda n: play_out(n, root, board, playout, rng, trace), seconds)


def _peer(spec: str, seconds: float) -> Callable[[], float]:
    game = pyspiel.load_game(spec)
    state = game.new_initial_state()

    def roll_out(count: int) -> None:
        mcts(game, c=0.0, solve=False, simulations=1, rollouts=count).mcts_search(state)

    return lambda: rate(roll_out, seconds)
