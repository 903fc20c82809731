"""docs/games.md: its names, parameters and examples of moves are those of the games."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from playout import Position, games
from testbed.openspiel import GAMES, RENAMED

DOCUMENT = (Path(__file__).parents[2] / "docs" / "games.md").read_text(encoding="utf-8")
OWN = [name for name in games.names() if name != "open_spiel"]


def rows(title: str) -> list[list[str]]:
    """The cells of the table of a section, without its head."""
    text = DOCUMENT.split(f"\n## {title}\n", 1)[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]


def test_all_games_are_listed_and_counted() -> None:
    assert sorted(row[0].strip("`") for row in rows("Names and parameters")) == OWN
    assert f"Playout has {len(OWN)} games of its own" in DOCUMENT
    readme = Path(__file__).parents[2] / "README.md"
    assert f"[{len(OWN)} games]" in readme.read_text(encoding="utf-8")


def test_the_games_of_each_group_are_listed() -> None:
    listed = {group: re.findall(r"`(\w+)`", names) for group, names in rows("Groups")}
    assert listed == {
        f"{title} (`{group}`)": [name for name in OWN if group in games.describe(name).groups]
        for group, title in games.GROUPS.items()
    }


@pytest.mark.parametrize("row", rows("Names and parameters"), ids=lambda row: row[0].strip("`"))
def test_the_parameters_and_their_defaults_are_those_of_the_game(row: list[str]) -> None:
    listed = {
        each.partition("=")[0]: each.partition("=")[2] for each in re.findall(r"`(.+?)`", row[1])
    }
    expected = {
        each.name: "" if each.default in (None, "") else str(each.default).lower()
        for each in games.describe(row[0].strip("`")).parameters
    }
    assert listed == expected


@pytest.mark.parametrize(
    ("game", "moves"),
    [
        ("othello", "d3"),
        ("breakthrough", "d2e3"),
        ("amazons", "d1 d7 g7"),
        ("chess", "Nf3"),
        ("chess", "g1f3"),
        ("checkers", "11-15"),
        ("connect_four", "4"),
        ("go", "D3"),
        ("kalah", "A"),
        ("nim", "2"),
        ("nim(piles=1;3;5;7)", "2:3"),
        ("pentago", "d4f1f3"),
    ],
)
def test_moves_are_written_so(game: str, moves: str) -> None:
    rules = games.load(game)
    Position.from_names(rules, moves.split())  # all are legal
    shown = "".join(row[1] + row[2] for row in rows("How moves are written"))
    assert all(f"`{move}`" in shown for move in moves.split())


def test_the_spelling_is_that_of_the_reference() -> None:
    listed = {
        (game, ours): theirs
        for row in rows("Spelling against OpenSpiel")
        for game in re.findall(r"`(\w+)`", row[0])
        for ours, theirs in zip(
            re.findall(r"`(\w+)`", row[1]), re.findall(r"`(\w+)`", row[2]), strict=True
        )
    }
    expected = {(game, name): new for game, pairs in RENAMED.items() for name, new in pairs.items()}
    assert listed == expected | {(game, game): new for game, new in GAMES.items()}
