"""Short look-aheads: compiled and plain versions agree, and known positions are correct."""

from __future__ import annotations

import random

import pytest

from playout import games
from playout.games import Game, Position, State
from playout.games.core.random import seeded
from playout.ratings.opening_generator import mean_return, wins_within
from support.plain import Plain

GAMES = ["connect_four", "tic_tac_toe", "mnk(m=4,n=4,k=3)", "nim(chips=9)", "othello"]


def positions(game: Game, count: int) -> list[State]:
    """Return positions after random moves; some of them are finished."""
    draw = random.Random(1)
    found = []
    for _ in range(count):
        state = game.initial_state()
        for _ in range(draw.randrange(1, game.max_plies)):
            if actions := game.legal_actions(state):
                state = game.next_state(state, draw.choice(actions))
        found.append(state)
    return found


@pytest.mark.parametrize("name", GAMES)
def test_compiled_and_plain_agree_on_forced_wins(name: str) -> None:
    game = games.load(name)
    plain = Plain(game)
    seen = set()
    for state in positions(game, 40):
        for player in (1, 2):
            for plies in range(4):
                wins = wins_within(game, state, player, plies)
                assert wins == wins_within(plain, state, player, plies), (state, player, plies)
                seen.add(wins)
    assert seen == {True, False}


def test_leaving_a_multiple_of_four_wins_nim() -> None:
    game = games.load("nim(chips=7)")  # up to three at a time; taking the last chip wins
    start = game.initial_state()
    assert [wins_within(game, start, 1, plies) for plies in range(1, 4)] == [False, False, True]
    assert not wins_within(game, start, 2, 6)


@pytest.mark.parametrize("name", GAMES)
def test_random_play_gives_both_ways_about_the_same_mean(name: str) -> None:
    game = games.load(name)
    start = game.initial_state()
    compiled = mean_return(game, start, seeded(1), 2000)
    assert compiled == pytest.approx(mean_return(Plain(game), start, seeded(2), 400), abs=0.1)


def test_a_position_that_is_over_is_worth_its_result() -> None:
    game = games.load("tic_tac_toe")
    state = Position(game, (0, 3, 1, 4, 2)).state
    assert mean_return(game, state, seeded(1), 10) == 1.0
    assert wins_within(game, state, 1, 0)
    assert not wins_within(game, state, 2, 3)
