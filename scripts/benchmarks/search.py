"""Simulations per second of `uct`, on one core against OpenSpiel's and on two against one.

The rate is that of a player that chooses within a time limit, the whole call included: selection,
expansion, playout, backpropagation and the report. Both searches start from the first position of
each game and from one in the middle of a match: fixed random moves, about 40 % of the plies of a
random match, after which the player to move cannot win at once.

The peer is OpenSpiel's search in C++ (MCTSBot) with one random rollout per simulation: the same
algorithm, the same exploration, no solver. It allocates its tree for each search, as in normal use;
`uct` allocates its tree once.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from playout import games, players
from testbed.bench import Bench, Column, ResultTable, Target
from testbed.measure import alternate, rate
from testbed.openspiel import mcts, position
from testbed.positions import middle, states_after

C = 0.5
OURS = f"uct(seed=1,c={C},solver=false,decisive=false,reuse=false)"
TWO_THREADS = OURS.replace(")", ",threads=2)")

#: Least ratio to OpenSpiel's simulations per second.
TARGETS = {
    "tic_tac_toe": 3.0,
    "connect_four": 10.0,
    "othello": 10.0,
    "mnk(m=8,n=8,k=5)": 10.0,
    "gomoku": 10.0,
    "ultimate_tic_tac_toe": 5.0,
    "checkers": 10.0,
    "chess": 3.0,
    "go": 10.0,
    "hex": 10.0,
    "breakthrough": 10.0,
    "clobber": 10.0,
}
THREADS_TARGET = Target("ratio", at_least=1.8)

AGAINST_PEER = (
    Column("game", "game"),
    Column("position", "position"),
    Column("ours", "simulations/s"),
    Column("peer", "OpenSpiel's"),
    Column("ratio", "ratio", ".1f"),
)
AGAINST_ONE = (
    Column("game", "game"),
    Column("two", "two threads, simulations/s"),
    Column("one", "one thread"),
    Column("ratio", "ratio", ".2f"),
)


def run(bench: Bench) -> list[ResultTable]:
    """Return a row for each game and position, and with two threads a row per game."""
    tables = [_against_peer(bench)]
    if bench.can_play(TWO_THREADS, next(iter(TARGETS))):
        tables.append(_against_one(bench))
    return tables


def _against_peer(bench: Bench) -> ResultTable:
    table = ResultTable("Simulations per second, one core", AGAINST_PEER)
    rounds, seconds = bench.pick(5, 3), bench.pick(1.0, 0.1)
    for spec in bench.track(list(TARGETS)):
        for where, moves in {"first": list[int](), "middle": middle(games.load(spec))}.items():
            ours, peer = _ours(OURS, spec, moves, seconds), _peer(spec, moves, seconds)
            ours(), peer()  # to touch memory and warm the caches
            taken = alternate(rounds, ours=ours, peer=peer)
            ratio = taken["ours"].over(taken["peer"])
            target = Target("ratio", at_least=TARGETS[spec])
            table.add(target, game=spec, position=where, **taken, ratio=ratio)
    return table


def _against_one(bench: Bench) -> ResultTable:
    table = ResultTable("Simulations per second from the first position, two threads", AGAINST_ONE)
    rounds, seconds = bench.pick(5, 3), bench.pick(1.0, 0.1)
    for spec in bench.track(list(TARGETS)):
        two, one = (_ours(player, spec, [], seconds) for player in (TWO_THREADS, OURS))
        two(), one()
        taken = alternate(rounds, two=two, one=one)
        table.add(THREADS_TARGET, game=spec, **taken, ratio=taken["two"].over(taken["one"]))
    return table


def _ours(text: str, spec: str, moves: list[int], seconds: float) -> Callable[[], float]:
    game = games.load(spec)
    player, states = players.load(text, game), states_after(game, moves)

    def simulations_a_second() -> float:
        started = time.perf_counter()
        info = player.choose(states, players.Limit(seconds=seconds)).info
        assert info is not None
        return info.simulations / (time.perf_counter() - started)

    return simulations_a_second


def _peer(spec: str, moves: list[int], seconds: float) -> Callable[[], float]:
    state = position(spec, moves)
    game = state.get_game()

    def search(simulations: int) -> None:
        mcts(game, C, solve=False, simulations=simulations).mcts_search(state)

    return lambda: rate(search, seconds)
