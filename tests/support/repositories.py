"""Git repositories of bots, made by tests."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

#: Quick conditions of the laboratory: a gain that is found in a few pairs.
LAB = """\
games = ["tic_tac_toe"]
clock = "20/move"
elo1 = 300
pairs = 200
openings = { plies = 1 }
isolate = "never"
"""
#: Bots at tic-tac-toe that read lines of JSON: one plays at random, one wins, blocks, or
#: takes the best free cell.
LINES_TOML = 'protocol = "lines"\ncommand = "python3 bot.py"\n'
RANDOM = """\
import json, random, sys
for line in sys.stdin:
    print(random.choice(json.loads(line)["legal_actions"]), flush=True)
"""
CENTRAL = """\
import json, sys
LINES = [{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}]
for line in sys.stdin:
    position = json.loads(line)
    moves, legal = position["moves"], position["legal_actions"]
    for mine in (moves[len(moves) % 2 :: 2], moves[1 - len(moves) % 2 :: 2]):
        ends = [c for c in legal if any(c in each and each <= {*mine, c} for each in LINES)]
        if ends:
            break
    print(min(ends or legal, key=[4, 0, 2, 6, 8, 1, 3, 5, 7].index), flush=True)
"""


class BotRepository:
    """A repository in a folder, to which tests write and commit files."""

    def __init__(self, top: Path) -> None:
        self.top = top
        top.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def write(self, files: dict[str, str]) -> None:
        """Write files, with the folders that they need."""
        for name, content in files.items():
            path = self.top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)

    def commit(self, files: dict[str, str], message: str = "a change") -> str:
        """Write and commit files; return the commit."""
        self.write(files)
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD").strip()

    def git(self, *words: str, environment: dict[str, str] | None = None) -> str:
        """Run git in the repository, as its owner; return its output."""
        own = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        people = {
            f"GIT_{role}_{key}": value
            for role in ("AUTHOR", "COMMITTER")
            for key, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"))
        }
        done = subprocess.run(
            ("git", "-c", "protocol.file.allow=always", *words),
            cwd=self.top,
            env=own | people | (environment or {}),
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout
