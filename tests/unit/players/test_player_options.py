"""What `playout-player --options` says of the players."""

from __future__ import annotations

import pytest

from playout import players
from playout.games.core import spec
from playout.players.client.player_options import about_options, described


@pytest.mark.parametrize("name", players.names())
def test_every_option_is_explained_and_nothing_else(name: str) -> None:
    make = players.find(name)
    options = spec.parameters_of(make, skip=1).keys()
    explained = about_options(make)
    assert options <= explained.keys()
    own = vars(make).get("about_options", {})
    assert own.keys() <= options
    assert all(len(each) < 100 and not each.endswith(".") for each in explained.values())


def test_an_option_has_its_default_its_kind_and_its_meaning() -> None:
    lines = [" ".join(line.split()) for line in described("uct").splitlines()]
    assert "c=0.5 a number weight of exploration, 0 or more" in lines
    assert "threads=1 a whole number searches in parallel, each with a tree, from 1 to 256" in lines
    engine = [" ".join(line.split()) for line in described("engine").splitlines()]
    assert "name= text, required name of the engine's table in engines.toml" in engine
    assert "No options." in described("human")
