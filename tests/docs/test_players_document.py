"""docs/player-options.md: its tables of options are those of the players and the games."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from playout import games
from playout.games import Game
from playout.players.core.rules import rules_of
from testbed import option_tables

TEXT = (Path(__file__).parents[2] / "docs" / "player-options.md").read_text(encoding="utf-8")
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
    table = TEXT.split("\n| option | games |\n")[1].split("\n\n")[0]
    (row,) = re.findall(rf"^\| `{option}` \| (.*?) \|", table, flags=re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", row)) & GAMES.keys() == expected


def test_the_tables_of_options_are_the_declarations() -> None:
    shown = re.findall(r"<!-- options: (\w+) -->", TEXT)
    assert sorted(shown) == sorted(option_tables.classes())
    assert option_tables.updated(TEXT) == TEXT


def test_a_table_is_written_anew() -> None:
    row = next(line for line in TEXT.splitlines() if line.startswith("| `tuned` |"))
    assert option_tables.updated(TEXT.replace(row + "\n", "")) == TEXT
    assert option_tables.updated(TEXT.replace(row, "| `tuned` | old |")) == TEXT
