"""Decisive playouts against the tuple rules: legal, with immediate wins and prevented losses."""

from __future__ import annotations

import random

import numpy as np
import pytest

from playout import games
from playout.games import Game, KernelGame, State
from playout.games.core.random import seeded
from support.scale import repetitions
from support.variants import COMPILED

SPECS = (
    "connect_four",
    "mnk(m=3,n=3,k=3)",
    "mnk(m=8,n=8,k=5)",
    "mnk(m=4,n=7,k=3)",
    "mnk(m=5,n=4,k=1)",
    "mnk(m=5,n=5,k=2)",
    "gomoku(size=9)",
    "gomoku(size=9,exact=true)",
    "mnk(m=6,n=6,k=3,exact=true)",
    "gomoku(size=20)",
    "breakthrough",
    "breakthrough(rows=2,columns=2)",
    "breakthrough(rows=4,columns=3)",
    "breakthrough(rows=6,columns=2)",
)


def wins(game: Game, state: State) -> list[int]:
    """Return the actions that win at once."""
    return [
        action
        for action in game.legal_actions(state)
        if game.winner(game.next_state(state, action)) == state[0]
    ]


def safe(game: Game, state: State) -> list[int]:
    """Return the actions after which the opponent cannot win at once."""
    return [
        action
        for action in game.legal_actions(state)
        if not wins(game, game.next_state(state, action))
    ]


def test_games_with_decisive_playouts_are_tested_here() -> None:
    with_them = {
        name
        for name in COMPILED
        if isinstance(game := games.load(name), KernelGame) and game.kernels.decisive
    }
    assert with_them == {spec.partition("(")[0] for spec in SPECS}


@pytest.mark.parametrize("spec", SPECS)
def test_every_ply_is_decisive(spec: str) -> None:
    game = games.load(spec)
    assert isinstance(game, KernelGame)
    assert game.kernels.decisive
    rng, source = seeded(7), random.Random(7)
    trace = np.empty(game.max_plies + 1, dtype=np.int64)
    size = game.num_actions
    full, short = (4, 1) if size > 80 else (12, 3) if size > 7 else (300, 50)
    for _ in range(repetitions(full, short=short)):
        state = game.initial_state()
        for _ in range(source.randrange(game.max_plies)):  # careless moves first
            after = game.next_state(state, source.choice(game.legal_actions(state)))
            if game.winner(after):
                break
            state = after
        board = game.board(state)
        plies = game.kernels.decisive(board, rng, trace)
        for action in trace[:plies].tolist():
            assert action in game.legal_actions(state)
            if winning := wins(game, state):
                assert action in winning
            elif len(game.legal_actions(state)) < 40 and (possible := safe(game, state)):
                assert action in possible
            state = game.next_state(state, action)
        assert game.winner(state)
        assert game.state(board) == state


def names_sensible(spec: str) -> bool:
    """Whether a game names actions for other reasons than what they win or lose at once."""
    game = games.load(spec)
    return isinstance(game, KernelGame) and bool(game.kernels.sensible) and "clobber" not in spec


@pytest.mark.parametrize("spec", [each for each in SPECS if names_sensible(each)])
def test_the_sensible_actions_win_or_prevent_a_loss_if_any_does(spec: str) -> None:
    game, draw = games.load(spec), random.Random(3)
    assert isinstance(game, KernelGame)
    assert game.kernels.sensible
    actions = np.empty(game.num_actions, dtype=np.int64)
    size = game.num_actions
    full, short = (1, 1) if size > 300 else (4, 1) if size > 60 else (100, 10)
    for _ in range(repetitions(full, short=short)):
        state = game.initial_state()
        while legal := game.legal_actions(state):
            found = actions[: game.kernels.sensible(game.board(state), actions)].tolist()
            assert len(found) == len(set(found)) > 0
            if winning := wins(game, state):  # one of them is enough
                assert set(found) <= set(winning)
            elif len(legal) < 40 and (possible := safe(game, state)):
                assert set(found) == set(possible)
            else:
                assert set(found) <= set(legal)
            state = game.next_state(state, draw.choice(legal))
        assert game.kernels.sensible(game.board(state), actions) == 0


@pytest.mark.parametrize("spec", SPECS)
def test_a_game_that_is_over_has_no_playout(spec: str) -> None:
    game = games.load(spec)
    assert isinstance(game, KernelGame)
    assert game.kernels.decisive
    board, trace = game.board(), np.empty(game.max_plies + 1, dtype=np.int64)
    assert game.kernels.decisive(board, seeded(1), trace) > 0
    assert game.kernels.decisive(board, seeded(1), trace) == 0
