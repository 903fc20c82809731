"""Pig against OpenSpiel, move by move."""

from __future__ import annotations

import random

import pyspiel

from playout import games
from playout.games import TIE
from support.scale import repetitions


def test_pig_is_that_of_open_spiel() -> None:
    for spec in ("pig", "pig(horizon=7)", "pig(diceoutcomes=3,winscore=10)", "pig(horizon=1)"):
        game, peer, draw = games.load(spec), pyspiel.load_game(spec), random.Random(spec)
        for _ in range(repetitions(500, short=10)):
            state, theirs = game.initial_state(), peer.new_initial_state()
            while not state[1]:
                assert not theirs.is_terminal()
                assert theirs.current_player() == state[0] - 1
                assert game.legal_actions(state) == tuple(theirs.legal_actions())
                action = draw.choice(theirs.legal_actions())
                state = game.next_state(state, action)
                theirs.apply_action(action)
            assert theirs.is_terminal()
            first, second = theirs.returns()
            assert state[1] == (TIE if first == second else 1 if first > second else 2)
