"""What an evaluation expects of the actions of a position, and `rave` with it."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from playout import games, players
from playout.games import KernelGame, Position, SpecError
from playout.players import Limit
from playout.players.evaluations import files
from playout.players.evaluations.placements import (
    expect_placements,
    new_placements,
)
from playout.players.evaluations.tables import Tables, expected, find_weights, new_tables, phase_of
from support.scale import sample


def random_tables(game: KernelGame) -> Tables:
    tables = new_tables(game)
    tables.weights[:] = np.random.default_rng(3).normal(0, 0.1, len(tables.weights))
    return tables


def kernel_game(name: str) -> KernelGame:
    game = games.load(name)
    assert isinstance(game, KernelGame)
    return game


# Each game is compiled for five seconds.
GAMES = ("hex(size=5)", "y(size=5)", "go(size=5)", "mnk(m=4,n=4,k=3)")


@pytest.mark.parametrize("name", sample(GAMES, short=2))
def test_each_action_is_worth_what_the_evaluation_of_the_next_position_says(name: str) -> None:
    game, draw, compared = kernel_game(name), random.Random(2), 0
    tables = random_tables(game)
    placements = new_placements(game, tables)
    indices = np.zeros(len(tables.groups), dtype=np.int64)
    observe = game.kernels.observe or game.kernels.write
    state = game.initial_state()
    for _ in range(80):
        expect_placements(placements, game.board(state), observe)
        for action in game.legal_actions(state):
            after = np.array(game.next_state(state, action))
            changed = sum(after[cell] != state[cell] for cell in tables.cells)
            if changed > 1 or phase_of(tables, after) != phase_of(tables, np.array(state)):
                continue  # a capture, or other weights in the next phase
            find_weights(tables, after, indices)
            value = expected(tables, indices) * (1 if state[0] == 1 else -1)
            assert placements.shares[action] == pytest.approx((1 + value) / 2, abs=1e-5)
            compared += 1
        state = game.next_state(state, draw.choice(game.legal_actions(state)))
        if game.winner(state):
            state = game.initial_state()
    assert compared > 300


@pytest.mark.parametrize("name", ["chess", "connect_four", "othello", "breakthrough", "amazons"])
def test_games_whose_actions_place_no_stones_are_refused(name: str) -> None:
    game = kernel_game(name)
    with pytest.raises(SpecError, match="do not each place a stone"):
        new_placements(game, new_tables(game))


def test_a_strong_expectation_decides_what_rave_plays(tmp_path: Path) -> None:
    game = kernel_game("hex(size=5)")
    tables = new_tables(game)
    placements = new_placements(game, tables)
    corner = 4
    single = next(
        group
        for group in placements.groups[placements.begins[corner] : placements.begins[corner + 1]]
        if tables.lengths[group] == 1
    )
    size, own = int(tables.numbers[2]), int(tables.offsets[single] + tables.codes[1])
    for part in range(len(tables.weights) // size):
        tables.weights[part * size + own] = 5
    path = tmp_path / "corner.npz"
    files.write(path, tables, files.Card(game=str(game)))
    chosen = {}
    for prior in (0, 100):
        text = f"rave(evaluation={path},prior={prior},simulations=300,seed=1)"
        chosen[prior] = players.load(text, game).choose(Position(game), Limit()).action
    assert chosen[0] != corner
    assert chosen[100] in (corner, 20)  # half a turn maps one to the other


def test_two_threads_search_with_an_evaluation(tmp_path: Path) -> None:
    game = kernel_game("y(size=5)")
    path = tmp_path / "random.npz"
    files.write(path, random_tables(game), files.Card(game=str(game)))
    player = players.load(f"rave(evaluation={path},simulations=2000,threads=2,seed=1)", game)
    again = players.load(f"rave(evaluation={path},simulations=2000,threads=2,seed=1)", game)
    first, second = (each.choose(Position(game), Limit()) for each in (player, again))
    assert first.info
    assert second.info
    assert first.info.actions == second.info.actions


def test_a_game_without_an_evaluation_says_how_to_learn_one() -> None:
    with pytest.raises(SpecError, match=r"rave: .*playout-train new .* --evaluation"):
        players.load("rave(evaluation=shipped)", games.load("hex(size=5)"))
