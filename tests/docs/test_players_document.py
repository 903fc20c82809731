"""docs/players.md: the games that it names for an option are those that have it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from playout import games
from playout.games import Game
from playout.players.core.rules import rules_of

TEXT = (Path(__file__).parents[2] / "docs" / "players.md").read_text(encoding="utf-8")
GAMES = {name: games.load(name) for name in games.names() if name != "open_spiel"}


def has_decisive(game: Game) -> bool:
    return rules_of(game).decisive is not None


def has_neighbours(game: Game) -> bool:
    return getattr(game, "neighbours", None) is not None


def has_heavy(game: Game) -> bool:
    return rules_of(game).heavy is not None


@pytest.mark.parametrize(
    ("option", "has"),
    [("decisive", has_decisive), ("near_first", has_neighbours), ("heavy", has_heavy)],
)
def test_the_games_with_an_option_are_named(option: str, has: Callable[[Game], bool]) -> None:
    expected = {name for name, game in GAMES.items() if has(game)}
    rows = re.findall(rf"^\| `{option}` \| (.*?) \|", TEXT, flags=re.MULTILINE)
    assert rows
    for row in rows:
        assert set(re.findall(r"`(\w+)`", row)) == expected
