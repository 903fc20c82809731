"""Rules on one core: random playouts per second, and calls of the tuple interface.

Playouts start from the first position of each game, after its first rolls, and run in a compiled
loop, which copies the board each time as the search does, so that calls from Python are not
measured. The plain loop is compiled, too: it lists the legal actions, draws one and plays it, until
the match ends. The peer is OpenSpiel's search in C++ (MCTSBot): one simulation with the measured
number of rollouts, for the games that OpenSpiel has.

`legal_actions` and `next_state` are called in the first position and in the middle of a random
match. The lower bound is the least work of such a call: call a compiled function that does nothing,
and convert an array as long as the answer to a tuple. The peer is OpenSpiel from Python:
`state.legal_actions()`, and `state.clone()` with `apply_action`, which does not check that the
action is legal, as ours does. Two games are not compared: its `ultimate_tic_tac_toe` needs two
actions per move, and its `nim` has other rules.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyspiel
from numba import types

from playout import games
from playout.games import Board, Game, KernelGame, Position, State, Vector
from playout.games.core.kernels import SIGNATURES, compiled
from playout.games.core.random import Rng, draw, seeded
from testbed.bench import Bench, Column, ResultTable
from testbed.measure import GAMES, calls_a_second, in_turns, rate
from testbed.openspiel import is_shared, mcts, measured, position
from testbed.positions import random_moves

PLAYOUTS = (
    Column("game", "game"),
    Column("playouts", "playouts/s"),
    Column("moves", "moves/s"),
    Column("plain", "plain loop's playouts/s"),
    Column("gain", "ratio", ".1f"),
    Column("peer", "OpenSpiel's playouts/s"),
    Column("ratio", "ratio", ".1f"),
)
CALLS = (
    Column("game", "game"),
    Column("position", "position"),
    Column("call", "call"),
    Column("ours", "calls/s"),
    Column("us", "µs per call", ".2f"),
    Column("bound", "bare call/s"),
    Column("times_bound", "times the bare call", ".1f"),
    Column("peer", "OpenSpiel's"),
    Column("ratio", "ratio", ".2f"),
)
#: Games of other sizes than those that are compared with OpenSpiel.
SIZES = ("othello(size=6)", "othello(size=10)")
#: Playouts whose mean length is the number of moves of one.
_COUNTED = 200
#: Games that OpenSpiel's interface does not have, or has with other rules.
NO_PEER = ("ultimate_tic_tac_toe", "nim")

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


@compiled(types.void(types.int64[::1]))
def do_nothing(vector: Vector) -> None:
    """Do nothing: the cheapest compiled call."""


def run(bench: Bench) -> list[ResultTable]:
    """Return a row for each game, then a row for each game, position and call."""
    return bench.tables(playouts=_playouts, calls=_calls)


def _playouts(bench: Bench) -> ResultTable:
    table = ResultTable("Playouts per second from the first position", PLAYOUTS)
    rounds, seconds = bench.pick(5, 3), bench.pick(0.3, 0.06)
    ratios = {"gain": ("playouts", "plain"), "ratio": ("playouts", "peer")}
    for spec in bench.track([*measured(), *measured(chance=True), *SIZES]):
        moves = Position(games.load(spec)).rolled(random.Random(1).randrange).moves
        measures = {"playouts": playouts(spec, moves, seconds), "plain": _plain(spec, seconds)}
        if is_shared(spec):
            measures["peer"] = _peer(spec, moves, seconds)
        taken = in_turns(rounds, ratios, measures)
        table.add(game=spec, **taken, moves=taken["playouts"].median * _plies(spec))
    return table


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


def _peer(spec: str, moves: Sequence[int], seconds: float) -> Callable[[], float]:
    state = position(spec, moves)
    game = state.get_game()

    def roll_out(count: int) -> None:
        mcts(game, c=0.0, solve=False, simulations=1, rollouts=count).mcts_search(state)

    return lambda: rate(roll_out, seconds)


def _calls(bench: Bench) -> ResultTable:
    table = ResultTable("Calls per second of the tuple interface", CALLS)
    rounds, seconds = bench.pick(7, 3), bench.pick(0.05, 0.01)
    ratios = {"times_bound": ("bound", "ours"), "ratio": ("ours", "peer")}
    for spec in bench.track(GAMES):
        game = games.load(spec)
        for place, moves in {"first": list[int](), "middle": _half_a_match(game)}.items():
            for call, measures in _measures(game, spec, moves):
                timed = {
                    name: functools.partial(calls_a_second, measure, seconds)
                    for name, measure in measures.items()
                }
                taken = in_turns(rounds, ratios, timed)
                us = 1e6 / taken["ours"].median
                table.add(game=spec, position=place, call=call, us=us, **taken)
    return table


def _half_a_match(game: Game) -> list[int]:
    """Return the first half of the moves of a random match, always the same."""
    moves, _ = random_moves(game, game.max_plies, random.Random(7))
    return moves[: len(moves) // 2]


def _measures(
    game: Game, spec: str, moves: list[int]
) -> Iterator[tuple[str, dict[str, Callable[[], object]]]]:
    """Yield both functions of the interface, each with its call, the bare one and OpenSpiel's."""
    state = functools.reduce(game.next_state, moves, game.initial_state())
    actions = game.legal_actions(state)
    action = actions[len(actions) // 2]
    peers: dict[str, Callable[[], object]] = {}
    if spec not in NO_PEER:
        other = pyspiel.load_game(spec).new_initial_state()
        for move in moves:
            other.apply_action(move)
        peers["legal_actions"] = other.legal_actions
        peers["next_state"] = lambda: other.clone().apply_action(action)
    for call, ours, answer in (
        ("legal_actions", functools.partial(game.legal_actions, state), actions),
        ("next_state", functools.partial(game.next_state, state, action), state),
    ):
        peer = {"peer": peers[call]} if call in peers else {}
        yield call, {"ours": ours, "bound": _bare(answer), **peer}


def _bare(answer: State) -> Callable[[], object]:
    vector = np.array(answer, dtype=np.int64)

    def call() -> State:
        do_nothing(vector)
        return tuple(vector.tolist())

    return call
