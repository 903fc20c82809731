"""OpenSpiel's search as a player."""

from __future__ import annotations

import threading

import pytest

from playout import games, players
from playout.games import Position, SpecError
from playout.players import Cancelled, Limit, PlayResult
from playout.players.open_spiel_mcts import OpenSpielMCTS


def test_it_wins_at_once() -> None:
    game = games.load("open_spiel(game=tic_tac_toe)")
    player = players.load("open_spiel_mcts(simulations=500,seed=1)", game)
    assert player.choose(Position(game, (0, 3, 1, 4)), Limit()) == PlayResult(2)


def test_equal_seeds_play_equally() -> None:
    game = games.load("open_spiel(game=breakthrough)")
    position = Position(game)
    both = [players.load("open_spiel_mcts(seed=7)", game) for _ in range(2)]
    first, second = (
        [player.choose(position, Limit(simulations=100)).action for _ in range(3)]
        for player in both
    )
    assert first == second
    assert set(first) <= set(position.legal_actions)


def test_cancelled_it_stops_before_its_time() -> None:
    game = games.load("open_spiel(game=hex)")
    player = players.load("open_spiel_mcts(time=3)", game)
    threading.Timer(0.05, player.cancel).start()
    with pytest.raises(Cancelled):
        player.choose(Position(game), Limit())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("c=-1", "c must be 0 or more"),
        ("time=0", "time must be above 0"),
        ("simulations=0", "simulations must be from 1"),
        ("memory_mb=0", "memory_mb must be from 1"),
    ],
)
def test_invalid_options_of_it_say_what_is_allowed(options: str, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        players.load(f"open_spiel_mcts({options})", games.load("open_spiel(game=nim)"))


def test_it_plays_no_other_games() -> None:
    with pytest.raises(SpecError, match=r"only the games open_spiel\(game=...\), not nim"):
        OpenSpielMCTS(games.load("nim"))
