"""Simulations per second of `uct`, on one core against OpenSpiel's and on two against one.

The rate is that of a player that chooses within a time limit, the whole call included: selection,
expansion, playout, backpropagation and the report. Both searches start from the first position of
each game and from one in the middle of a match: fixed random moves, about 40 % of the plies of a
random match, after which the player to move cannot win at once.

The peer is OpenSpiel's search in C++ (MCTSBot) with one random rollout per simulation: the same
algorithm, the same exploration, no solver. It allocates its tree for each search, as in normal use;
`uct` allocates its tree once. Every game that OpenSpiel has is compared.

The bound is a compiled loop of playouts from the same position without a tree: `share` is the part
of the bound's rate that the search reaches.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from benchmarks.games import SIZES, playouts
from playout import games, players
from playout.games import Position
from playout.games.core.spec import parse
from testbed.bench import Bench, Column, ResultTable, Target
from testbed.measure import GAMES, alternate, rate
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


def run(bench: Bench) -> list[ResultTable]:
    """Return a row for each game and position, and with two threads a row for some games."""
    tables = [_against_peer(bench)]
    if bench.can_play(TWO_THREADS, GAMES[0]):
        tables.append(_against_one(bench))
    return tables


def _against_peer(bench: Bench) -> ResultTable:
    table = ResultTable("Simulations per second, one core", AGAINST_PEER)
    rounds, seconds = bench.pick(5, 3), bench.pick(0.5, 0.1)
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
            for measure in measures.values():
                measure()  # to touch memory and warm the caches
            taken = alternate(rounds, **measures)
            ratio = taken["ours"].over(taken["peer"]) if target else None
            share = taken["ours"].over(taken["bound"])
            table.add(target, game=spec, position=where, **taken, ratio=ratio, share=share)
    return table


def _against_one(bench: Bench) -> ResultTable:
    table = ResultTable("Simulations per second from the first position, two threads", AGAINST_ONE)
    rounds, seconds = bench.pick(5, 3), bench.pick(1.0, 0.1)
    for spec in bench.track(GAMES):
        two, one = (_ours(player, spec, [], seconds) for player in (TWO_THREADS, OURS))
        two(), one()
        taken = alternate(rounds, two=two, one=one)
        table.add(THREADS_TARGET, game=spec, **taken, ratio=taken["two"].over(taken["one"]))
    return table


def _ours(text: str, spec: str, moves: list[int], seconds: float) -> Callable[[], float]:
    game = games.load(spec)
    player, position = players.load(text, game), Position(game, moves)

    def simulations_a_second() -> float:
        started = time.perf_counter()
        info = player.choose(position, players.Limit(seconds=seconds)).info
        assert info is not None
        return info.simulations / (time.perf_counter() - started)

    return simulations_a_second


def _peer(spec: str, moves: list[int], seconds: float) -> Callable[[], float]:
    state = position(spec, moves)
    game = state.get_game()

    def search(simulations: int) -> None:
        mcts(game, C, solve=False, simulations=simulations).mcts_search(state)

    return lambda: rate(search, seconds)
