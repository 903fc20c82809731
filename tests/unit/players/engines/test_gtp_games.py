"""Moves of Go in GTP, for the game that is compiled and for OpenSpiel's."""

from __future__ import annotations

import pytest

from playout import games
from playout.players.engines.gtp import board_of


@pytest.mark.parametrize(
    "spec", ["go(size=9,komi=6.5)", "open_spiel(game=go,board_size=9,komi=6.5)"]
)
def test_go_has_a_size_a_komi_and_the_bottom_row_first(spec: str) -> None:
    game = games.load(spec)
    board, state = board_of(game), game.initial_state()
    assert (board.vertices.rows, board.vertices.columns, board.komi) == (9, 9, 6.5)
    assert board.name(state, 0) == "A1"
    assert board.name(state, 8) == "J1"
    assert board.action(state, "j9") == 80
    assert board.action(state, "PASS") == 81
    assert board.name(state, 81) == "pass"
    assert board.action(state, "K1") is None
