"""Random playouts per second, on one core, against a plain loop and OpenSpiel's.

All start from the first position of each game. Playouts run in a compiled loop, which copies the
board each time as the search does, so that calls from Python are not measured. The plain loop is
compiled, too: it lists the legal actions, draws one and plays it, until the match ends.

The peer is OpenSpiel's search in C++ (MCTSBot): one simulation with the measured number of
rollouts, for the games that OpenSpiel has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numba import types

from playout import games
from playout.games import Board, KernelGame, Position, Vector
from playout.games.core.kernels import SIGNATURES, compiled
from playout.games.core.random import Rng, draw, seeded
from testbed.bench import Bench, Column, ResultTable
from testbed.measure import alternate, rate
from testbed.openspiel import is_shared, mcts, measured, position

COLUMNS = (
    Column("game", "game"),
    Column("playouts", "playouts/s"),
    Column("moves", "moves/s"),
    Column("plain", "plain loop's playouts/s"),
    Column("gain", "ratio", ".1f"),
    Column("peer", "OpenSpiel's playouts/s"),
    Column("ratio", "ratio", ".1f"),
)
#: Games of other sizes than those that are compared with OpenSpiel.
SIZES = ("othello(size=6)", "othello(size=10)")
#: Playouts whose mean length is the number of moves of one.
_COUNTED = 200

_VECTOR, _RNG = types.int64[::1], types.uint64[::1]
_LEGAL, _PLAY, _PLAYOUT = (
    types.FunctionType(SIGNATURES[name]) for name in ("legal", "play", "playout")
)


@compiled(types.int64(types.int64, _VECTOR, _VECTOR, _PLAYOUT, _RNG, _VECTOR))
def play_out(
    count: int, root: Board, board: Board, playout: Callable[..., int], rng: Rng, trace: Vector
) -> int:
    """Play `count` playouts from `root`; return the total number of plies."""
    plies = 0
    for _ in range(count):
        board[:] = root
        plies += playout(board, rng, trace)
    return plies


@compiled(types.void(types.int64, _VECTOR, _VECTOR, _LEGAL, _PLAY, _RNG, _VECTOR))
def play_plainly(
    count: int,
    root: Board,
    board: Board,
    legal: Callable[..., int],
    play: Callable[..., None],
    rng: Rng,
    actions: Vector,
) -> None:
    """Play `count` random matches from `root`, by the rules alone."""
    for _ in range(count):
        board[:] = root
        while board[1] == 0:
            play(board, actions[draw(rng, legal(board, actions))])


def run(bench: Bench) -> list[ResultTable]:
    """Return a row per game."""
    table = ResultTable("Playouts per second from the first position", COLUMNS)
    rounds, seconds = bench.pick(5, 3), bench.pick(0.3, 0.06)
    for spec in bench.track([*measured(), *SIZES]):
        measures = {"playouts": playouts(spec, [], seconds), "plain": _plain(spec, seconds)}
        if is_shared(spec):
            measures["peer"] = _peer(spec, seconds)
        for measure in measures.values():
            measure()  # to touch memory and warm the caches
        taken = alternate(rounds, **measures)
        table.add(
            game=spec,
            **taken,
            moves=taken["playouts"].median * _plies(spec),
            gain=taken["playouts"].over(taken["plain"]),
            ratio=taken["playouts"].over(taken["peer"]) if "peer" in taken else None,
        )
    return [table]


def playouts(spec: str, moves: Sequence[int], seconds: float) -> Callable[[], float]:
    """Return a measure of the playouts per second after `moves`."""
    game = _kernel_game(spec)
    root, board = (game.board(Position(game, moves).state) for _ in range(2))
    rng, trace = seeded(1), np.empty(game.max_plies + 1, dtype=np.int64)
    playout = game.kernels.playout
    return lambda: rate(lambda n: play_out(n, root, board, playout, rng, trace), seconds)


def _plies(spec: str) -> float:
    game = _kernel_game(spec)
    trace = np.empty(game.max_plies + 1, dtype=np.int64)
    total = play_out(_COUNTED, game.board(), game.board(), game.kernels.playout, seeded(1), trace)
    return total / _COUNTED


def _plain(spec: str, seconds: float) -> Callable[[], float]:
    game = _kernel_game(spec)
    root, board, rng = game.board(), game.board(), seeded(1)
    actions = np.empty(game.num_actions + 1, dtype=np.int64)
    legal, play = game.kernels.legal, game.kernels.play
    return lambda: rate(lambda n: play_plainly(n, root, board, legal, play, rng, actions), seconds)


def _kernel_game(spec: str) -> KernelGame:
    game = games.load(spec)
    assert isinstance(game, KernelGame), spec
    return game


def _peer(spec: str, seconds: float) -> Callable[[], float]:
    state = position(spec, [])
    game = state.get_game()

    def roll_out(count: int) -> None:
        mcts(game, c=0.0, solve=False, simulations=1, rollouts=count).mcts_search(state)

    return lambda: rate(roll_out, seconds)
