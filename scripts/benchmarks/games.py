"""Playouts and UCT simulations a second, on one core, against OpenSpiel's.

Both start from the first position of each game. A playout is counted inside a compiled loop, which
copies the board each time as the search does, so that calls from Python do not count; a simulation
is one of `uct` while it chooses within a time limit, the call included.

The peer is OpenSpiel's search in C++ (MCTSBot) with one random rollout a simulation: the same
algorithm, the same exploration, no solver. Its playouts are one simulation with as many rollouts
as are counted. It has no `nim` that compares.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyspiel
from numba import types

import games
import players
from benchmarks._bench import Bench
from benchmarks._measure import GAMES, Sample, alternate, rate
from benchmarks._table import Column, Table, Target
from games import Board, KernelGame, Vector
from games.core.kernels import SIGNATURES, compiled
from games.core.random import Rng, seeded

TARGETS = {
    "tic_tac_toe": 1_500_000,
    "connect_four": 1_000_000,
    "othello": 150_000,
    "mnk(m=8,n=8,k=5)": 200_000,
    "gomoku": 60_000,
    "ultimate_tic_tac_toe": 250_000,
}
C = 0.5
#: OpenSpiel's results run from -1 to 1 and ours from 0 to 1, so twice the constant explores alike.
OPENSPIEL_C = 2 * C

COLUMNS = (
    Column("game", "game"),
    Column("playouts", "playouts/s"),
    Column("peer_playouts", "OpenSpiel's"),
    Column("playouts_ratio", "ratio", ".1f"),
    Column("uct", "UCT simulations/s"),
    Column("peer_uct", "OpenSpiel's"),
    Column("uct_ratio", "ratio", ".1f"),
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
    """Play `root` out so many times; the plies of all."""
    plies = 0
    for _ in range(count):
        board[:] = root
        plies += playout(board, rng, trace)
    return plies


def run(bench: Bench) -> list[Table]:
    """A row a game."""
    table = Table("Playouts and simulations a second from the first position", COLUMNS)
    rounds, seconds = bench.pick(5, 3), bench.pick(1.0, 0.12)
    for spec in bench.track(GAMES):
        game = games.load(spec)
        assert isinstance(game, KernelGame)
        measures = _ours(game, seconds) | (_peer(spec, seconds) if spec != "nim" else {})
        for measure in measures.values():
            measure()  # memory is touched, caches are warm
        taken = alternate(rounds, **measures)
        target = Target("uct", at_least=TARGETS[spec]) if spec in TARGETS else None
        table.add(target, game=spec, **taken, **_ratios(taken))
    return [table]


def _ours(game: KernelGame, seconds: float) -> dict[str, Callable[[], float]]:
    root, board, rng = game.board(), game.board(), seeded(1)
    trace = np.empty(game.max_plies + 1, dtype=np.int64)
    playout = game.kernels.playout
    player = players.load(f"uct(seed=1,c={C})", game)
    states = [game.initial_state()]

    def simulations() -> float:
        started = time.perf_counter()
        info = player.choose(states, players.Limit(seconds=seconds)).info
        assert info is not None
        return info.simulations / (time.perf_counter() - started)

    def playouts() -> float:
        return rate(lambda n: play_out(n, root, board, playout, rng, trace), seconds / 2)

    return {"playouts": playouts, "uct": simulations}


def _peer(spec: str, seconds: float) -> dict[str, Callable[[], float]]:
    game = pyspiel.load_game(spec)
    state = game.new_initial_state()

    def search(simulations: int, rollouts: int) -> Any:
        evaluator = pyspiel.RandomRolloutEvaluator(rollouts, 1)
        bot = pyspiel.MCTSBot(
            game, evaluator, OPENSPIEL_C, simulations, 4000, solve=False, seed=1, verbose=False
        )
        return bot.mcts_search(state)

    return {
        "peer_playouts": lambda: rate(lambda n: search(1, n), seconds / 2),
        "peer_uct": lambda: rate(lambda n: search(n, 1), seconds),
    }


def _ratios(taken: dict[str, Sample]) -> dict[str, Sample]:
    return {
        f"{what}_ratio": taken[what].over(taken[f"peer_{what}"])
        for what in ("playouts", "uct")
        if f"peer_{what}" in taken
    }
