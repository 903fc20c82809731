"""docs/writing-a-game.md: the command that prints the lines of each game, and their limit."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_lines_of_every_game_are_printed() -> None:
    printed = subprocess.run([ROOT / "scripts" / "game-lines"], capture_output=True, check=True)
    rows = re.findall(
        r"^\| `(\w+)` \| (\d+)(?:, and \d+ in `.*`)? \|$", printed.stdout.decode(), re.MULTILINE
    )
    written = {path.stem: path.read_bytes().count(b"\n") for path in ROOT.glob("games/[a-z]*.py")}
    assert {name: int(lines) for name, lines in rows} == written


def test_no_file_of_a_game_has_more_than_400_lines() -> None:
    files = [path for path in ROOT.glob("games/**/*.py") if "core" not in path.parts]
    assert {path.name for path in files if path.read_bytes().count(b"\n") > 400} == set()
