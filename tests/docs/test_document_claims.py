"""What documents say of games and code holds: sessions of Python, and the games of GTP."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from playout import games
from playout.games import SpecError
from playout.players.engines.gtp_games import ClickedBoard

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


def test_the_games_that_gtp_cannot_play_are_listed() -> None:
    refused = set()
    for name in games.names():
        try:
            ClickedBoard(games.load(name))
        except SpecError as error:
            if "GTP" in str(error):
                refused.add(name)
    text = (ROOT / "docs" / "other-programs.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"two cells or more: ([^.]*)\.", text)
    assert set(re.findall(r"`(\w+)`", listed)) == refused
