"""Searches: simulations per second of `uct`, and evaluations of positions by `alphabeta`.

On one core, `uct` is compared with OpenSpiel's search, and with two threads, with one. The rate is
that of a player that chooses within a time limit, the whole call included: selection, expansion,
playout, backpropagation and the report. Both searches start from the first position of each game
and from one in the middle of a match: fixed random moves, about 40 % of the plies of a random
match, after which the player to move cannot win at once.

The peer is OpenSpiel's search in C++ (MCTSBot) with one random rollout per simulation: the same
algorithm, the same exploration, no solver. It allocates its tree for each search, as in normal use;
`uct` allocates its tree once. Every game that OpenSpiel has is compared.

The bound is a compiled loop of playouts from the same position without a tree: `share` is the part
of the bound's rate that the search reaches.

An evaluation is measured in a compiled loop, after one move from a position whose evaluation is
known. Its bound is to write the state of the position, which each evaluation does first.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numba import types

from benchmarks.rules import SIZES, playouts
from playout import games, players
from playout.games import Board, KernelGame, Position, State, Vector
from playout.games.core.kernels import SIGNATURES, compiled
from playout.games.core.spec import parse
from playout.players import Limit
from playout.players.core.rules import rules_of
from playout.players.depth_first import principal_variation
from playout.players.evaluations import files, perceptron
from playout.players.evaluations.tables import TABLES, Tables
from testbed.bench import Bench, Column, ResultTable, Target
from testbed.measure import GAMES, in_turns, rate
from testbed.openspiel import is_shared, mcts, measured, position
from testbed.positions import middle

C = 0.5
OURS = f"uct(seed=1,c={C},solver=false,decisive=false,reuse=false)"
TWO_THREADS = OURS.replace(")", ",threads=2)")

#: Least ratio to OpenSpiel's simulations per second: of most games, and of those with another one.
TARGET = 10.0
TARGETS = {
    "tic_tac_toe": 8.0,
    "nim": 8.0,
    "ultimate_tic_tac_toe": 8.0,
    "havannah": 15.0,
    "y": 15.0,
    "breakthrough": 20.0,
    "checkers": 20.0,
    "chess": 20.0,
    "gomoku": 20.0,
    "lines_of_action": 20.0,
    "mnk": 20.0,
    "othello": 20.0,
}
THREADS_TARGET = Target("ratio", at_least=1.8)

AGAINST_PEER = (
    Column("game", "game"),
    Column("position", "position"),
    Column("ours", "simulations/s"),
    Column("peer", "OpenSpiel's"),
    Column("ratio", "ratio", ".1f"),
    Column("bound", "playouts/s alone"),
    Column("share", "share", ".2f"),
)
AGAINST_ONE = (
    Column("game", "game"),
    Column("two", "two threads, simulations/s"),
    Column("one", "one thread"),
    Column("ratio", "ratio", ".2f"),
)
#: Random moves before the position that is evaluated.
PLIES = 6
#: The table of the search, in rows.
_ROWS = 1 << 10

EVALUATIONS = (
    Column("game", "game"),
    Column("evaluations", "evaluations/s"),
    Column("bound", "bare states/s"),
    Column("ratio", "ratio", ".2f"),
    Column("positions", "positions/s of alphabeta"),
)


@compiled(
    types.int64(principal_variation.SEARCH, principal_variation.KERNELS, TABLES, types.int64),
    allocates=False,
)
def evaluate_again(
    search: principal_variation.PrincipalSearch,
    kernels: principal_variation.PrincipalKernels,
    tables: Tables,
    count: int,
) -> int:
    """Evaluate the position of ply 1 `count` times; return the sum of the values."""
    total = 0
    for _ in range(count):
        search.line.phases[1] = -1
        total += principal_variation.evaluate(search, kernels, tables, 1)
    return total


@compiled(
    types.float64(
        perceptron.CHANCE_KERNELS,
        perceptron.PERCEPTRON,
        perceptron.ACTIVATIONS,
        types.int64[::1],
        types.int64,
    ),
    allocates=False,
)
def expect_again(
    kernels: perceptron.ChanceKernels,
    net: perceptron.Perceptron,
    memory: perceptron.Activations,
    board: Board,
    count: int,
) -> float:
    """Evaluate a position by a net `count` times; return the sum of the expected results."""
    total = 0.0
    for _ in range(count):
        total += perceptron.expected_by(kernels, net, memory, board)
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
    """Return a row for each game and position, for two threads, and for each evaluation."""
    parts = {"simulations": _against_peer, "threads": _against_one, "evaluations": _of_evaluations}
    if not bench.can_play(TWO_THREADS, GAMES[0]):
        del parts["threads"]
    return bench.tables(**parts)


def _against_peer(bench: Bench) -> ResultTable:
    table = ResultTable("Simulations per second, one core", AGAINST_PEER)
    rounds, seconds = bench.pick(5, 3), bench.pick(0.5, 0.1)
    ratios = {"ratio": ("ours", "peer"), "share": ("ours", "bound")}
    for spec in bench.track([*measured(), *SIZES]):
        for where, moves in {"first": list[int](), "middle": middle(games.load(spec))}.items():
            measures = {
                "ours": _ours(OURS, spec, moves, seconds),
                "bound": playouts(spec, moves, seconds / 4),
            }
            target = None
            if is_shared(spec):
                measures["peer"] = _peer(spec, moves, seconds)
                target = Target("ratio", at_least=TARGETS.get(parse(spec).name, TARGET))
            table.add(target, game=spec, position=where, **in_turns(rounds, ratios, measures))
    return table


def _against_one(bench: Bench) -> ResultTable:
    table = ResultTable("Simulations per second from the first position, two threads", AGAINST_ONE)
    rounds, seconds = bench.pick(5, 3), bench.pick(1.0, 0.1)
    for spec in bench.track(GAMES):
        measures = {
            "two": _ours(TWO_THREADS, spec, [], seconds),
            "one": _ours(OURS, spec, [], seconds),
        }
        taken = in_turns(rounds, {"ratio": ("two", "one")}, measures)
        table.add(THREADS_TARGET, game=spec, **taken)
    return table


def _of_evaluations(bench: Bench) -> ResultTable:
    """Return a row for each evaluation that comes with Playout."""
    table = ResultTable("Evaluations, and positions of `alphabeta`, per second", EVALUATIONS)
    rounds, seconds = bench.pick(5, 3), bench.pick(0.4, 0.05)
    folder = Path(files.__file__).parent / "learned"
    for spec in bench.track(sorted(path.stem for path in folder.glob("*.npz"))):
        game = games.load(spec)
        assert isinstance(game, KernelGame)
        state = _evaluated(game)
        measures = {
            "evaluations": _evaluations(game, state, seconds),
            "bound": _states(game, state, seconds),
            "positions": _positions(game, state, seconds),
        }
        table.add(game=spec, **in_turns(rounds, {"ratio": ("evaluations", "bound")}, measures))
    return table


def _ours(text: str, spec: str, moves: list[int], seconds: float) -> Callable[[], float]:
    game = games.load(spec)
    player, position = players.load(text, game), Position(game, moves)

    def simulations_a_second() -> float:
        started = time.perf_counter()
        info = player.choose(position, Limit(seconds=seconds)).info
        assert info is not None
        return info.simulations / (time.perf_counter() - started)

    return simulations_a_second


def _peer(spec: str, moves: list[int], seconds: float) -> Callable[[], float]:
    state = position(spec, moves)
    game = state.get_game()

    def search(simulations: int) -> None:
        mcts(game, C, solve=False, simulations=simulations).mcts_search(state)

    return lambda: rate(search, seconds)


def _evaluated(game: KernelGame) -> State:
    draw, state = random.Random(1), game.initial_state()
    plies = 0
    while plies < PLIES or state[0] == 0:
        state = game.next_state(state, draw.choice(game.legal_actions(state)))
        plies += 1
    return state


def _evaluations(game: KernelGame, state: State, seconds: float) -> Callable[[], float]:
    if game.has_chance:
        net, board = files.load_net(game, files.SHIPPED), game.board(state)
        given = perceptron.kernels_of(game, rules_of(game)), net
        memory = perceptron.new_activations(game, net)
        return lambda: rate(lambda n: expect_again(*given, memory, board, n), seconds)
    tables, rules = files.load(game, files.SHIPPED), rules_of(game)
    kernels = principal_variation.kernels_of(rules)
    search = principal_variation.new_search(
        game, rules, tables, principal_variation.new_table(_ROWS)
    )
    search.boards[0] = game.board(state)
    search.line.phases[0] = -1
    principal_variation.play_on(search, kernels, 0, game.legal_actions(state)[0])
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
