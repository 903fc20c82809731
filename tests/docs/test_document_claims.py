"""What documents say of games and code holds: sessions of Python, games and commands of GTP."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from playout import games
from playout.games import Game, SpecError
from playout.players.engines.gtp import ClickedBoard, GtpError, resized

ROOT = Path(__file__).parents[2]
SESSIONS = [
    path.relative_to(ROOT)
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("path", SESSIONS, ids=str)
def test_sessions_of_python_print_what_is_shown(path: Path) -> None:
    done = doctest.testfile(str(ROOT / path), module_relative=False, encoding="utf-8")
    assert done.attempted
    assert not done.failed


#: The games that need no parameter.
GAMES = {name: games.load(name) for name in games.names() if name not in ("open_spiel", "original")}
OTHER_PROGRAMS = (ROOT / "docs" / "other-programs.md").read_text(encoding="utf-8")


def named(pattern: str) -> set[str]:
    """Return the words in code in the only text that the pattern finds."""
    (text,) = re.findall(pattern, OTHER_PROGRAMS)
    return set(re.findall(r"`(\w+)`", text))


def is_playable(game: Game) -> bool:
    try:
        ClickedBoard(game)
    except SpecError:
        return False
    return True


def test_the_games_that_gtp_cannot_play_are_listed() -> None:
    without_chance = {name: game for name, game in GAMES.items() if not game.has_chance}
    refused = {name for name, game in without_chance.items() if not is_playable(game)}
    assert named(r"two cells or more: ([^.]*)\.") == refused


def test_the_games_with_a_size_and_with_a_komi_in_gtp_are_listed() -> None:
    resizable = {
        name
        for name, game in GAMES.items()
        if is_playable(game) and any(resizes(game, size) for size in (5, 6, 8, 10))
    }
    assert named(r"changes the size of (.*?); other games") == resizable
    with_komi = {name for name, game in GAMES.items() if game.komi is not None}
    assert named(r"changes the komi of (.*?); other games") == with_komi


def resizes(game: Game, size: int) -> bool:
    try:
        return resized(game, [size]) is not game
    except GtpError:
        return False


def test_the_number_of_games_is_that_of_all_but_those_of_other_packages() -> None:
    for path in ("README.md", "CHANGELOG.md", "docs/games.md", "docs/learning.md"):
        text = (ROOT / path).read_text(encoding="utf-8")
        assert re.findall(r"\b(\d+) games", text)[:1] == [str(len(GAMES))], path
