"""docs/writing-a-game.md: its table of the lines of each game is about as its command prints it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: A table may be older than the games by so many lines, or by this share of them.
LINES, SHARE = 15, 0.1


def lengths(text: str) -> dict[str, list[int]]:
    """Return the lines of each game in a table, and of the folder beside it, if there is one."""
    rows = re.findall(r"^\| `(\w+)` \| (\d+)(?:, and (\d+) in `.*`)? \|$", text, re.MULTILINE)
    return {name: [int(each) for each in counts if each] for name, *counts in rows}


def test_the_lines_of_the_games_are_about_those_that_are_printed() -> None:
    printed = subprocess.run([ROOT / "scripts" / "game-lines"], capture_output=True, check=True)
    now = lengths(printed.stdout.decode())
    written = lengths((ROOT / "docs" / "writing-a-game.md").read_text(encoding="utf-8"))
    assert list(written) == list(now) == sorted(each.stem for each in ROOT.glob("games/[a-z]*.py"))
    for name, counts in now.items():
        assert written[name] == pytest.approx(counts, rel=SHARE, abs=LINES), name


def test_no_file_of_a_game_has_more_than_400_lines() -> None:
    files = [path for path in ROOT.glob("games/**/*.py") if "core" not in path.parts]
    assert {path.name for path in files if path.read_bytes().count(b"\n") > 400} == set()
