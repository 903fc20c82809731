"""What `playout-player --options` says of the players."""

from __future__ import annotations

import pytest

from playout import games, players
from playout.games.core import spec
from playout.players import SpecError
from playout.players.alphabeta import AlphaBeta
from playout.players.client.player_command import described
from playout.players.uct import UCT


@pytest.mark.parametrize("name", players.names())
def test_every_option_is_explained(name: str) -> None:
    for parameter in spec.parameters_of(players.find(name), skip=1).values():
        about, default = parameter.option.about, parameter.option.default
        assert 0 < len(about) < 140
        assert not (about + default).endswith(".")
        assert default or parameter.required or parameter.default not in (None, "")


def test_an_option_has_its_default_its_values_and_its_meaning() -> None:
    lines = [" ".join(line.split()) for line in described("uct").splitlines()]
    assert "c=0.5 a number, 0 or more weight of exploration" in lines
    assert "threads=1 a whole number, 1 to 256 number of parallel searches" in lines
    engine = [" ".join(line.split()) for line in described("engine").splitlines()]
    assert "name= text, required name of the engine's table in `engines.toml`" in engine
    best = described("best")
    assert "one of easy, medium, strong, master" in best
    assert "for each move; by default no limit" in best
    assert "No options." in described("human")


def test_a_player_made_in_python_refuses_what_a_specification_refuses() -> None:
    game = games.load("connect_four")
    with pytest.raises(SpecError, match="uct: threads must be from 1 to 256, not 0"):
        players.load("uct(threads=0)", game)
    with pytest.raises(SpecError, match="UCT: threads must be from 1 to 256, not 0"):
        UCT(game, threads=0)
    with pytest.raises(SpecError, match="AlphaBeta: depth must be 0 or more, not -1"):
        AlphaBeta(game, depth=-1)
