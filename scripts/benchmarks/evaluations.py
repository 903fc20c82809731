"""Learned evaluations: the time of one, and positions a second of `alphabeta`, on one core.

An evaluation is measured in a compiled loop, after one move from a position whose evaluation is
known. The bound is to write the state of the position, which each evaluation does first.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numba import types

from playout import games, players
from playout.games import Board, KernelGame, Position, State, Vector
from playout.games.core.kernels import SIGNATURES, compiled
from playout.players import Limit
from playout.players.core.rules import rules_of
from playout.players.depth_first import quiescence
from playout.players.evaluations import files
from playout.players.evaluations.tables import TABLES, Tables
from testbed.bench import Bench, Column, ResultTable
from testbed.measure import alternate, rate

#: Random moves before the position.
PLIES = 6
#: The table of the search, in rows.
_ROWS = 1 << 10

COLUMNS = (
    Column("game", "game"),
    Column("evaluations", "evaluations/s"),
    Column("bound", "bare states/s"),
    Column("ratio", "ratio", ".2f"),
    Column("positions", "positions/s of alphabeta"),
)


@compiled(types.int64(quiescence.SEARCH, quiescence.KERNELS, TABLES, types.int64), allocates=False)
def evaluate_again(
    search: quiescence.PrincipalSearch,
    kernels: quiescence.PrincipalKernels,
    tables: Tables,
    count: int,
) -> int:
    """Evaluate the position of ply 1 `count` times; return the sum of the values."""
    total = 0
    for _ in range(count):
        search.line.phases[1] = -1
        total += quiescence.evaluate(search, kernels, tables, 1)
    return total


@compiled(
    types.void(
        types.int64,
        types.int64[::1],
        types.int64[::1],
        types.FunctionType(SIGNATURES["observe"]),
    ),
    allocates=False,
)
def write_again(count: int, board: Board, state: Vector, write: Callable[..., None]) -> None:
    """Write a state `count` times."""
    for _ in range(count):
        write(board, state)


def run(bench: Bench) -> list[ResultTable]:
    """Return a row for each evaluation that comes with Playout."""
    table = ResultTable("Evaluations, and positions of a search, per second", COLUMNS)
    rounds, seconds = bench.pick(5, 3), bench.pick(0.4, 0.05)
    folder = Path(files.__file__).parent / "learned"
    for spec in bench.track(sorted(path.stem for path in folder.glob("*.npz"))):
        game = games.load(spec)
        assert isinstance(game, KernelGame)
        state = _position(game)
        measures = {
            "evaluations": _evaluations(game, state, seconds),
            "bound": _states(game, state, seconds),
            "positions": _positions(game, state, seconds),
        }
        for measure in measures.values():
            measure()  # to touch memory and warm the caches
        taken = alternate(rounds, **measures)
        table.add(game=spec, ratio=taken["evaluations"].over(taken["bound"]), **taken)
    return [table]


def _position(game: KernelGame) -> State:
    draw, state = random.Random(1), game.initial_state()
    for _ in range(PLIES):
        state = game.next_state(state, draw.choice(game.legal_actions(state)))
    return state


def _evaluations(game: KernelGame, state: State, seconds: float) -> Callable[[], float]:
    tables, rules = files.load(game, files.SHIPPED), rules_of(game)
    kernels = quiescence.kernels_of(rules)
    search = quiescence.new_search(game, rules, tables, quiescence.new_table(_ROWS))
    search.boards[0] = game.board(state)
    search.line.phases[0] = -1
    quiescence.play_on(search, kernels, 0, game.legal_actions(state)[0])
    return lambda: rate(lambda n: evaluate_again(search, kernels, tables, n), seconds)


def _states(game: KernelGame, state: State, seconds: float) -> Callable[[], float]:
    board, written = game.board(state), np.zeros(len(state), dtype=np.int64)
    return lambda: rate(lambda n: write_again(n, board, written, game.kernels.write), seconds)


def _positions(game: KernelGame, state: State, seconds: float) -> Callable[[], float]:
    player = players.load("alphabeta(seed=1,reuse=false)", game)

    def measure() -> float:
        info = player.choose(Position(game, start=state), Limit(seconds=seconds)).info
        assert info
        return info.simulations / info.seconds

    return measure
