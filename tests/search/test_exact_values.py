"""The positions with exact values are what their file says, by solvers of several kinds."""

from __future__ import annotations

import functools
import random
from collections import Counter

import pytest
from open_spiel.python.algorithms.minimax import alpha_beta_search

from playout import games, players
from playout.games import KernelGame, Position, State
from playout.players import Limit
from support import scale
from testbed.openspiel import position
from testbed.positions import SolvedPosition, exact
from testbed.solving import (
    BEFORE_END,
    CHECKERS,
    COUNT,
    ENDINGS,
    Ending,
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


if scale.slow:  # the analysis of chess lists a million positions

    @pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.game)
    def test_retrograde_analysis_finds_the_values_again(ending: Ending) -> None:
        game = games.load(ending.game)
        assert isinstance(game, KernelGame)
        positions = sample(ending.game)
        solution = Solution(game, ending, [each.position.state for each in positions])
        for each in positions:
            assert solution.values(each.position.state) == list(each.values.values())
