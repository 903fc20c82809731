"""Calls per second of the tuple interface, against a bare compiled call and OpenSpiel.

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
from collections.abc import Callable

import numpy as np
import pyspiel
from numba import types

from playout import games
from playout.games import Game, State, Vector
from playout.games.core.kernels import compiled
from testbed.bench import Bench, Column, ResultTable
from testbed.measure import GAMES, alternate, calls_a_second
from testbed.positions import random_moves

NO_PEER = ("ultimate_tic_tac_toe", "nim")

COLUMNS = (
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


@compiled(types.void(types.int64[::1]))
def do_nothing(vector: Vector) -> None:
    """Do nothing: the cheapest compiled call."""


def run(bench: Bench) -> list[ResultTable]:
    """Return a row for each game, position and call."""
    table = ResultTable("Calls per second of the tuple interface", COLUMNS)
    rounds, seconds = bench.pick(7, 3), bench.pick(0.05, 0.01)
    for spec in bench.track(GAMES):
        game = games.load(spec)
        for position, moves in {"first": [], "middle": half_a_match(game)}.items():
            for call, measures in _calls(game, spec, moves).items():
                timed = {
                    name: functools.partial(calls_a_second, measure, seconds)
                    for name, measure in measures.items()
                }
                taken = alternate(rounds, **timed)
                table.add(
                    game=spec,
                    position=position,
                    call=call,
                    **taken,
                    us=1e6 / taken["ours"].median,
                    times_bound=taken["bound"].over(taken["ours"]),
                    ratio=taken["ours"].over(taken["peer"]) if "peer" in taken else None,
                )
    return [table]


def half_a_match(game: Game) -> list[int]:
    """Return the first half of the moves of a random match, always the same."""
    moves, _ = random_moves(game, game.max_plies, random.Random(7))
    return moves[: len(moves) // 2]


def _calls(game: Game, spec: str, moves: list[int]) -> dict[str, dict[str, Callable[[], object]]]:
    state = functools.reduce(game.next_state, moves, game.initial_state())
    actions = game.legal_actions(state)
    action = actions[len(actions) // 2]
    measures: dict[str, dict[str, Callable[[], object]]] = {
        "legal_actions": {
            "ours": functools.partial(game.legal_actions, state),
            "bound": _bare(actions),
        },
        "next_state": {
            "ours": functools.partial(game.next_state, state, action),
            "bound": _bare(state),
        },
    }
    if spec not in NO_PEER:
        other = pyspiel.load_game(spec).new_initial_state()
        for move in moves:
            other.apply_action(move)
        measures["legal_actions"]["peer"] = other.legal_actions
        measures["next_state"]["peer"] = lambda: other.clone().apply_action(action)
    return measures


def _bare(answer: State) -> Callable[[], object]:
    vector = np.array(answer, dtype=np.int64)

    def call() -> State:
        do_nothing(vector)
        return tuple(vector.tolist())

    return call
