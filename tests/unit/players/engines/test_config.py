"""playout.players.engines.config: the games that an engine is for."""

from __future__ import annotations

from pathlib import Path

import pytest

from playout import games
from playout.games import SpecError
from playout.players.engine import client_of
from playout.players.engines import config
from playout.players.engines.client import EngineClient
from playout.players.engines.config import EngineConfig


@pytest.mark.parametrize(
    ("listed", "game", "is_for_it"),
    [
        ("nim", "nim(chips=9)", True),
        ("nim(max_take=3)", "nim(chips=9)", True),
        ("nim(chips=9)", "nim", False),
        ("open_spiel(game=clobber)", "open_spiel(game=clobber,rows=3)", True),
        ("open_spiel(game=clobber,rows=5)", "open_spiel(game=clobber)", True),
        ("open_spiel(game=clobber,rows=5)", "open_spiel(game=clobber,rows=3)", False),
        ("open_spiel(game=hex,swap=false)", "open_spiel(game=hex)", True),
    ],
)
def test_an_engine_is_for_the_games_whose_parameters_are_those_listed(
    listed: str, game: str, is_for_it: bool
) -> None:
    config = EngineConfig("tiny", ("tiny",), "gtp", Path(), games=(listed,))
    if is_for_it:
        config.require_game(games.load(game))
    else:
        with pytest.raises(SpecError, match="the engine 'tiny' is for"):
            config.require_game(games.load(game))


def test_each_protocol_has_a_client() -> None:
    clients = [client_of(each) for each in config.PROTOCOLS]
    assert len(set(clients)) == len(config.PROTOCOLS)
    assert all(issubclass(each, EngineClient) for each in clients)
