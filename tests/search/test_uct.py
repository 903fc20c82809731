"""UCT: its choices, its limits, and its repeatability."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from playout import games, players
from playout.games import KernelGame, Position
from playout.players import Limit, SpecError
from playout.players.core.rules import rules_of
from playout.players.mcts.search import Worker
from playout.players.mcts.selection import (
    FLAT,
    HAND_SELECTED,
    MINIMUM_MSE,
    RAVE,
    TUNED,
    UCB1,
    Selection,
)
from playout.players.mcts.simulation import SearchConfig
from playout.players.mcts.tree import MAX_SIMULATIONS
from playout.players.uct import UCT
from support.interpreted import Interpreted, after
from support.scale import repetitions


def chosen(spec: str, moves: str, options: str = "seed=1,simulations=20000") -> str:
    game, state = after(spec, moves)
    choice = players.load(f"uct({options})", game).choose(Position(game, start=state), Limit())
    return game.action_name(state, choice.action)


@pytest.mark.parametrize(
    ("spec", "moves", "best"),
    [
        ("tic_tac_toe", "a1 b2 a2 c1", "a3"),  # win
        ("tic_tac_toe", "a1 b2 b1", "c1"),  # prevent a loss
        ("connect_four", "1 4 1 4 2 4", "4"),  # prevent a loss
        ("connect_four", "4 1 4 1 4 1", "4"),  # win, on top of three of the same player
        ("mnk(m=5,n=5,k=4)", "b2 a1 c2 a2 d2 a3", "e2 a2 a4"),
        ("gomoku(size=9)", "e5 a1 e4 a2 e6 a3 e7 a4", "e8 e3"),
        ("nim(chips=10)", "", "2"),  # leaves eight
        ("nim(chips=21)", "3", "2"),  # leaves sixteen
    ],
)
def test_it_finds_the_move(spec: str, moves: str, best: str) -> None:
    assert chosen(spec, moves) in best.split()


def test_the_same_seed_searches_the_same_and_another_does_not() -> None:
    game = games.load("mnk(m=6,n=6,k=4)")
    state = game.initial_state()

    def actions(seed: int) -> object:
        player = players.load(f"uct(seed={seed},simulations=3000)", game)
        return player.choose(Position(game, start=state), Limit()).info.actions  # type: ignore[union-attr]

    assert actions(7) == actions(7)
    assert actions(7) != actions(8)


@pytest.mark.parametrize("spec", ["nim(chips=9)", "connect_four", "mnk(m=4,n=4,k=3)"])
@pytest.mark.parametrize("solver", [True, False])
@pytest.mark.parametrize(
    "selection",
    [
        Selection(UCB1, 0.5, 2.0),
        Selection(UCB1, 0.5, 0.6),
        Selection(TUNED, 1.0, 2.0),
        Selection(RAVE, 0.1, 2.0, HAND_SELECTED, k=100.0),
        Selection(RAVE, 0.0, 2.0, MINIMUM_MSE, bias=0.1),
        Selection(FLAT, 0.0, 2.0),
    ],
)
def test_plain_python_is_searched_by_the_same_source(
    spec: str, solver: bool, selection: Selection
) -> None:
    """With playouts that are cut off, both versions draw the same random numbers."""
    compiled = games.load(spec)
    max_depth = 1 if selection.rule == FLAT else compiled.max_plies
    config = SearchConfig(selection, solver, False, max_plies=3, max_depth=max_depth)
    found = []
    for game in (compiled, Interpreted(compiled)):
        assert rules_of(game).compiled is (game is compiled)
        worker = Worker(game, config, 3, 1)
        worker.reset(game.initial_state())
        done = worker.search(repetitions(300, short=80), math.inf, lambda left: False)
        rows = worker.tree.nodes[: worker.tree.used[0]]
        names = ("action", "visits", "value", "proof", "width", "tried")
        found.append((done, worker.depth, [rows[name].tolist() for name in names]))
    assert found[0] == found[1]


def test_plain_python_is_asked_the_same_way() -> None:
    compiled = games.load("connect_four")
    results = []
    for game in (compiled, Interpreted(compiled)):
        player = players.load("uct(seed=3,simulations=300,max_plies=3)", game)
        results.append(player.choose(Position(game), Limit()).info)
    assert results[0].actions == results[1].actions
    assert results[0].pv == results[1].pv


COUNT_COMPILED = """
from playout import games, players
from numba.core.dispatcher import Dispatcher
from playout.players import Limit
from playout.players.mcts import playouts, search, selection, simulation
from support.interpreted import Interpreted

def compiled():
    modules = (playouts, search, selection, simulation)
    steps = [each for module in modules for each in vars(module).values()]
    return sum(len(each.signatures) for each in steps if isinstance(each, Dispatcher))

game = Interpreted(games.load("tic_tac_toe"))
made = [players.load(name, game) for name in ("uct", "uct(tuned=true)", "rave", "flat")]
before = compiled()
for player in made:
    player.choose(games.Position(game, (0, 4, 8, 1)), Limit(simulations=300))
assert compiled() == before
"""


def test_a_first_choice_in_plain_python_does_not_wait_for_the_compiler() -> None:
    """Compilation takes about a second, and happens when the player is created."""
    tests = Path(__file__).parents[1]
    path = os.pathsep.join([str(tests.parent), str(tests)])
    subprocess.run(
        [sys.executable, "-c", COUNT_COMPILED], env=os.environ | {"PYTHONPATH": path}, check=True
    )


def test_the_analysis_is_consistent() -> None:
    game, state = after("connect_four", "4 4")
    info = (
        players.load("uct(seed=1)", game)
        .choose(Position(game, start=state), Limit(simulations=5000))
        .info
    )
    assert info is not None
    assert info.simulations == 5000
    assert sum(each.visits for each in info.actions) == 5000
    assert sorted(each.action for each in info.actions) == list(game.legal_actions(state))
    assert all(0 <= each.wins <= each.visits for each in info.actions)
    assert info.pv[0] == info.actions[0].action
    assert 1 <= len(info.pv) <= info.depth
    assert info.seconds > 0


def test_a_search_continues_in_a_full_tree() -> None:
    game = games.load("gomoku")
    player = players.load("uct(seed=1,memory_mb=1)", game)
    info = player.choose(Position(game), Limit(simulations=30_000)).info
    assert info is not None
    assert info.simulations == 30_000
    tree = player._workers[0].tree  # type: ignore[attr-defined]
    assert tree.used[0] <= len(tree.nodes)


@pytest.mark.parametrize(
    ("spec", "explicit", "other"),
    [("go(size=5)", "c=0", "c=0.2"), ("go(size=5)", "c=0.2,prior=0", "c=0,prior=0")],
)
def test_rave_does_not_explore_where_the_game_assumes_results(
    spec: str, explicit: str, other: str
) -> None:
    game = games.load(spec)

    def visits(options: str) -> list[int]:
        player = players.load(f"rave(seed=1,simulations=500,{options})", game)
        return [each.visits for each in player.choose(Position(game), Limit()).info.actions]

    default = "prior=0" if "prior" in explicit else "prior=1"
    assert visits(default) == visits(explicit) != visits(other)


@pytest.mark.parametrize("player", ["uct(seed=1,memory_mb=1)", "rave(seed=1,memory_mb=1)"])
def test_a_heavily_pruned_tree_can_start_anew(player: str) -> None:
    """The root keeps its children in every pruning, so that there is an action to choose."""
    game = games.load("gomoku")
    state = game.initial_state()
    searcher = players.load(player, game)
    searcher.choose(
        Position(game, start=state), Limit(simulations=repetitions(100_000, short=30_000))
    )
    for action in range(0, 225, repetitions(5, short=15)):
        other = game.next_state(state, action)
        searcher.choose(Position(game, start=other), Limit(simulations=200 + 20 * action))


@pytest.mark.parametrize("options", ["memory_mb=1", "memory_mb=1,threads=2"])
def test_a_search_that_prunes_can_be_repeated(options: str) -> None:
    game = games.load("connect_four")

    def searched() -> object:
        simulations = repetitions(150_000, short=60_000)
        player = players.load(f"uct(seed=1,simulations={simulations},{options})", game)
        return player.choose(Position(game), Limit()).info.actions  # type: ignore[union-attr]

    assert searched() == searched()


@pytest.mark.parametrize("player", ["uct(memory_mb=1,threads=256)", "rave(memory_mb=1,threads=50)"])
def test_memory_too_small_for_a_root_is_refused(player: str) -> None:
    with pytest.raises(SpecError, match="memory_mb=1 is too little for gomoku, threads="):
        players.load(player, games.load("gomoku"))


@pytest.mark.parametrize("spec", ["gomoku(size=20)", "nim(chips=1000,max_take=100)"])
def test_flat_has_memory_for_every_action(spec: str) -> None:
    """Each of many threads can visit every action."""
    game = games.load(spec)
    player = players.load("flat(threads=256,seed=1)", game)
    worker = player._workers[0]  # type: ignore[attr-defined]
    worker.reset(game.initial_state())
    worker.search(1000, math.inf, lambda left: False)
    assert worker.complete
    assert len(worker.tree.nodes[worker.children(0)]) == game.num_actions


@pytest.mark.parametrize("simulations", [3, 7, 2001, 2002])
@pytest.mark.parametrize("seed", range(5))
def test_flat_plays_the_best_mean(simulations: int, seed: int) -> None:
    """An action with one more playout has no advantage."""
    game = games.load("connect_four")
    player = players.load(f"flat(seed={seed})", game)
    choice = player.choose(Position(game), Limit(simulations=simulations))
    assert choice.info is not None
    tried = [each for each in choice.info.actions if each.visits]
    assert sum(each.visits for each in tried) == simulations
    assert tried[0].action == choice.action
    assert tried[0].win_rate == max(each.win_rate for each in tried) == choice.info.win_rate


def test_options_may_be_whole_numbers() -> None:
    game = games.load("connect_four")
    choice = UCT(game, c=1, fpu=2, seed=1).choose(Position(game), Limit(simulations=10))
    assert choice.action in range(7)


@pytest.mark.parametrize(
    "player",
    [
        f"uct(max_plies={10**30})",
        f"uct(max_depth={10**30})",
        f"uct(simulations={10**30},time=0.01)",
        f"uct(seed={10**30})",
        "uct(seed=-1)",
        "minimax(seed=-1)",
        f"minimax(depth={10**30})",
        "greedy(seed=-1)",
        "random(seed=-1)",
    ],
)
def test_options_may_be_any_whole_number(player: str) -> None:
    game = games.load("tic_tac_toe")
    choice = players.load(player, game).choose(Position(game), Limit(simulations=100))
    assert choice.action in game.legal_actions(game.initial_state())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("k=inf", "k must be a number"),
        ("k=0", "k must be above 0, not 0"),
        ("bias=inf", "bias must be a number"),
        ("bias=-inf", "bias must be a number"),
    ],
)
def test_rave_cannot_weigh_by_infinity(options: str, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        players.load(f"rave({options})", games.load("tic_tac_toe"))


def test_all_threads_end_when_one_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is raised in the thread that called `choose`, at the end of a slice."""
    game = games.load("gomoku")
    player = players.load("uct(seed=1,threads=2)", game)

    def interrupt(*_: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr("playout.players.mcts.searcher.is_decided", interrupt)
    with pytest.raises(KeyboardInterrupt):
        player.choose(Position(game), Limit(seconds=3600, time_carries_over=True))
    player.close()


def test_counts_do_not_overflow() -> None:
    game = games.load("connect_four")
    player = UCT(game, seed=1, solver=False)
    player.choose(Position(game), Limit(simulations=1000))
    player._workers[0].tree.nodes["visits"][0] = MAX_SIMULATIONS - 500
    info = player.choose(Position(game), Limit(simulations=1000)).info
    assert info is not None
    assert info.simulations == 500


def test_the_tighter_limit_holds() -> None:
    game = games.load("tic_tac_toe")
    player = players.load("uct(simulations=100,time=60)", game)
    for limit in (Limit(), Limit(simulations=1000), Limit(seconds=60)):
        info = player.choose(Position(game), limit).info
        assert info is not None
        assert info.simulations == 100


@pytest.mark.parametrize("limit", [Limit(simulations=1), Limit(seconds=0.0), Limit(simulations=0)])
def test_the_tightest_limit_still_gives_a_move(limit: Limit) -> None:
    game = games.load("connect_four")
    choice = players.load("uct(seed=1)", game).choose(Position(game), limit)
    assert choice.action in range(7)
    assert choice.info
    assert choice.info.simulations == 1


def test_a_finished_game_has_no_choice() -> None:
    game, state = after("nim(chips=1)", "1")
    with pytest.raises(ValueError, match="the game is over"):
        players.load("uct", game).choose(Position(game, start=state), Limit())


def test_cancelling_ends_a_search_that_would_take_an_hour() -> None:
    game = games.load("connect_four")
    player = players.load("uct(time=3600)", game)
    threading.Timer(0.05, player.cancel).start()
    for _ in range(2):  # the second one ends soon, too, before `ready`
        assert player.choose(Position(game), Limit()).action in range(7)
    player.ready()
    assert player.choose(Position(game), Limit(simulations=10)).info


def test_the_search_releases_the_interpreter() -> None:
    """The compiled search releases the GIL, so that this thread continues meanwhile."""
    game = games.load("othello")
    player = players.load("uct", game)
    assert isinstance(player, UCT)
    assert isinstance(game, KernelGame)
    worker = player._workers[0]
    worker.reset(game.initial_state())
    thread = threading.Thread(target=worker._simulate, args=(100_000,))
    thread.start()
    steps = 0
    while thread.is_alive():
        steps += 1
    assert steps > 1000


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("time=0", "time must be above 0"),
        ("simulations=0", "simulations must be 1 or more"),
        ("c=-1", "must be 0 or more"),
        ("max_plies=-1", "must be 0 or more"),
        ("memory_mb=0", "memory_mb must be 1 or more"),
        ("simulation=5", "did you mean 'simulations'"),
        ("c=much", "c must be a number"),
        ("fpu=nan", "fpu must be a number"),
    ],
)
def test_invalid_options_say_what_is_allowed(options: str, told: str) -> None:
    with pytest.raises(SpecError) as caught:
        players.load(f"uct({options})", games.load("tic_tac_toe"))
    assert told in str(caught.value)


def test_an_unknown_player_lists_the_known_ones() -> None:
    with pytest.raises(SpecError, match=r"human.*random.*uct"):
        players.load("utc2", games.load("tic_tac_toe"))
    assert {"flat", "human", "random", "rave", "uct"} <= set(players.names())


def test_every_player_but_the_human_plays_a_whole_match() -> None:
    elsewhere = ("alphazero", "engine", "open_spiel_mcts")  # need a net, an engine, OpenSpiel
    for name in players.names():
        if players.find(name).human or name in elsewhere:
            continue
        game = games.load("breakthrough" if name == "alphabeta" else "nim")  # it needs a board
        player = players.load(name, game)
        position = Position(game)
        while position.legal_actions:
            position = position.play(player.choose(position, Limit(seconds=0.01)).action)
        player.close()
        assert position.winner
