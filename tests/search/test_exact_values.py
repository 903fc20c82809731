"""The positions with exact values are what their file says, by solvers of several kinds."""

from __future__ import annotations

import functools
import itertools
import random
from collections import Counter
from typing import Any

import pyspiel
import pytest
from open_spiel.python.algorithms.minimax import alpha_beta_search

from playout import games, players
from playout.agents.solved_positions import SolvedPosition, exact, solve
from playout.agents.variants import variant
from playout.games import KernelGame, Position, State
from playout.players import Limit
from support import scale
from testbed.openspiel import position
from testbed.solving import (
    BEFORE_END,
    CHECKERS,
    COUNT,
    EINSTEIN,
    ENDINGS,
    EQUAL,
    PIG,
    Ending,
    Expectation,
    Solution,
    proven_values,
)

#: The least number of positions of a game, and of games with as many.
LEAST, GAMES = 200, 10
#: Positions of each game that are solved again.
SAMPLE = scale.repetitions(200, short=3)
FEW_NODES = Limit(simulations=20_000)
#: Nodes for the value of a move: more than the positions were made with.
NODES = 20_000_000


@functools.cache
def stored() -> dict[str, list[SolvedPosition]]:
    return exact()


def sample(spec: str, count: int = SAMPLE) -> list[SolvedPosition]:
    return random.Random(1).sample(stored()[spec], min(count, len(stored()[spec])))


def test_enough_games_have_enough_different_positions() -> None:
    assert sum(len(each) >= LEAST for each in stored().values()) >= GAMES
    for positions in stored().values():
        assert len(positions) <= COUNT
        assert len({each.position.state for each in positions}) == len(positions)


def test_in_each_position_one_move_preserves_the_value_and_one_does_not() -> None:
    for positions in stored().values():
        for each in positions:
            assert tuple(each.values) == each.position.legal_actions
            assert 0 < sum(map(each.kept_by, each.values)) < len(each.values)


@pytest.mark.parametrize("spec", BEFORE_END)
def test_minimax_proves_the_values_again(spec: str) -> None:
    game = games.load(spec)
    solver = players.load("minimax(seed=2)", game)
    for each in sample(spec):
        found = proven_values(game, solver, each.position.state, NODES)
        assert found == list(each.values.values())
    solver.close()


#: Games whose last positions alpha-beta in Python solves in a moment.
PEERS = ("tic_tac_toe", "connect_four", "hex(size=6)", "y(size=6)", "clobber", "othello")


@pytest.mark.parametrize("spec", PEERS)
def test_openspiel_finds_the_same_values(spec: str) -> None:
    longest = sorted(stored()[spec], key=lambda each: -each.position.ply)
    for each in longest[: scale.repetitions(10, short=2)]:
        state = position(spec, each.position.moves)
        mover = state.current_player()
        found = {
            action: alpha_beta_search(state.get_game(), state.child(action), None, 99, mover)[0]
            for action in state.legal_actions()
        }
        assert found == each.values


#: Games whose variants are solved.
VARIED = ("connect_four", "nim(piles=2;3;3)", "othello(size=6)")[: 3 if scale.slow else 2]


@pytest.mark.parametrize("name", VARIED)
def test_positions_of_a_variant_have_the_values_of_a_whole_search(name: str) -> None:
    game = variant(games.load(name), 1, 2).game
    entries = solve(game, 6)
    assert len(entries) == 6
    assert solve(game, 2) == entries[:2]

    @functools.cache
    def value(state: State) -> int:
        """Return the value for player 1."""
        if winner := game.winner(state):
            return {1: 1, 2: -1}.get(winner, 0)
        best = max if game.current_player(state) == 1 else min
        return best(value(game.next_state(state, each)) for each in game.legal_actions(state))

    for entry in sorted(entries, key=lambda each: -len(each.moves))[:2]:
        found = entry.of(game)
        sign = 1 if found.position.to_move == 1 else -1
        after = {each: found.position.play(each).state for each in found.values}
        assert {each: sign * value(state) for each, state in after.items()} == found.values
        assert 0 < found.chance < 1


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.game)
def test_no_proof_of_minimax_contradicts_an_ending(ending: Ending) -> None:
    """It proves only short wins, and it is another solver than the retrograde analysis."""
    game, proofs = games.load(ending.game), 0
    solver = players.load("minimax(seed=1)", game)
    for each in stored()[ending.game]:
        info = solver.choose(each.position, FEW_NODES).info
        assert info is not None
        if info.proven is not None:
            proofs += 1
            assert info.proven == each.value
    solver.close()
    assert proofs > 0


def test_the_values_of_two_kings_at_checkers_are_those_of_minimax() -> None:
    game, choose = games.load("checkers"), random.Random(1)
    assert isinstance(game, KernelGame)
    cells = [0] * 64
    cells[1], cells[62] = 3, 4
    state: State = (1, 0, *cells, -1, 0)
    solution, solver = Solution(game, CHECKERS, [state]), players.load("minimax(seed=1)", game)
    proven = Counter[int]()
    while not game.winner(state):
        for action, value in zip(
            game.legal_actions(state), solution.values(state) or (), strict=True
        ):
            after = solution.without_history(game.next_state(state, action))
            info = (
                None
                if game.winner(after)
                else solver.choose(Position(game, start=after), FEW_NODES).info
            )
            if info and info.proven is not None:
                proven[value] += 1
                assert info.proven == (value if after[0] == state[0] else -value)
        state = game.next_state(state, choose.choice(game.legal_actions(state)))
    solver.close()
    assert proven[-1] > 0


def expected_by_openspiel(state: pyspiel.State, mover: int, known: dict[Any, float]) -> float:
    """Return the expected result of a player with best play by both."""
    if state.is_terminal():
        return float(state.returns()[mover])
    if state.is_chance_node():
        roller = state.child(0).current_player()
        if (key := (str(state), roller)) not in known:
            known[key] = sum(
                share * expected_by_openspiel(state.child(outcome), mover, known)
                for outcome, share in state.chance_outcomes()
            )
        return known[key]
    best = max if state.current_player() == mover else min
    children = map(state.child, state.legal_actions())
    return best(expected_by_openspiel(child, mover, known) for child in children)


def test_openspiel_expects_the_same_of_endings_of_einstein() -> None:
    latest = sorted(stored()[EINSTEIN.game], key=lambda each: -each.position.ply)
    for each in latest[: scale.repetitions(30, short=3)]:
        state = position(EINSTEIN.game, each.position.moves)
        mover, known = state.current_player(), dict[Any, float]()
        found = {
            action: expected_by_openspiel(state.child(action), mover, known)
            for action in state.legal_actions()
        }
        best = max(found.values())
        assert {action: 1 if v > best - EQUAL else -1 for action, v in found.items()} == each.values


def test_the_expected_results_of_pig_solve_its_equations() -> None:
    """Those of Neller & Presser (2004), for players who both have 90 points or more."""
    game = games.load("pig")
    assert isinstance(game, KernelGame)
    points = [*itertools.product(range(90, 100), repeat=2)]
    solution = Expectation(game, PIG, [(1, 0, 1, *each, 0, 0) for each in points])

    def roll_and_hold(mine: int, theirs: int, turn: int) -> list[float]:
        return solution.expected((1, 0, 1, mine, theirs, turn, 0))

    def best(mine: int, theirs: int, turn: int) -> float:
        return 1 if mine + turn >= 100 else max(roll_and_hold(mine, theirs, turn))

    for (mine, theirs), turn in itertools.product(points, range(10)):
        if mine + turn < 100 and turn != 1:
            roll, hold = roll_and_hold(mine, theirs, turn)
            further = [best(mine, theirs, turn + die) for die in range(2, 7)]
            assert roll == pytest.approx((sum(further) - best(theirs, mine, 0)) / 6, abs=EQUAL)
            assert hold == pytest.approx(-best(theirs, mine + turn, 0), abs=EQUAL)


@pytest.mark.parametrize("ending", [EINSTEIN, PIG], ids=lambda ending: ending.game)
def test_expected_results_are_found_again(ending: Ending) -> None:
    game = games.load(ending.game)
    assert isinstance(game, KernelGame)
    latest = sorted(stored()[ending.game], key=lambda each: -each.position.ply)
    positions = latest[: scale.repetitions(100, short=1)]
    solution = Expectation(game, ending, [each.position.state for each in positions])
    for each in positions:
        assert solution.values(each.position.state) == list(each.values.values())


if scale.slow:  # the analysis of chess lists a million positions

    @pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.game)
    def test_retrograde_analysis_finds_the_values_again(ending: Ending) -> None:
        game = games.load(ending.game)
        assert isinstance(game, KernelGame)
        positions = sample(ending.game)
        solution = Solution(game, ending, [each.position.state for each in positions])
        for each in positions:
            assert solution.values(each.position.state) == list(each.values.values())
