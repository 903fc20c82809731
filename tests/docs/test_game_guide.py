"""docs/writing-a-game.md: the command that prints the lines of each game."""

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
