"""playout.players.training.settings: the games for which a net can be trained."""

from __future__ import annotations

import pytest

from playout import games
from playout.players.training import TrainingError
from playout.players.training.settings import trainable


@pytest.mark.parametrize("game", ["tic_tac_toe", "othello(size=6)"])
def test_a_game_with_compiled_rules_and_equal_pieces_can_be_learned(game: str) -> None:
    assert trainable(games.load(game)) is games.load(game)


@pytest.mark.parametrize(
    ("game", "told"),
    [
        ("open_spiel(game=tic_tac_toe)", "training needs compiled rules"),
        ("checkers", "has pieces of several kinds, which the input of a net"),
        ("amazons", "has pieces of several kinds"),
        ("kalah", "has several pieces on a cell"),
    ],
)
def test_other_games_are_refused(game: str, told: str) -> None:
    with pytest.raises(TrainingError, match=told):
        trainable(games.load(game))
