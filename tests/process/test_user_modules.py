"""A bot beside modules named like the folders of the package: neither hides the other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.commands import RunningServer, finish_all, run, running_server, start
from support.documents import program
from support.forked import BIN

ROOT = Path(__file__).parents[2]
#: The author's own modules, named like the folders of the package.
OWN = sorted(each.name for each in (ROOT / "src" / "playout").iterdir() if each.is_symlink())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the README's bot, which uses the author's own modules, and a script."""
    for name in OWN:
        (tmp_path / f"{name}.py").write_text(f"def my_{name}():\n    return '{name}'\n")
    uses = "".join(
        f"from {name} import my_{name}\nassert my_{name}() == '{name}'\n" for name in OWN
    )
    (tmp_path / "my_bot.py").write_text(uses + program("README.md", "import random"))
    script = program("docs/writing-a-bot.md", '"""Plays at random: reads')
    (tmp_path / "my_script.py").write_text(script.replace("import json", uses + "import json", 1))
    (tmp_path / "engines.toml").write_text(
        f'[script]\ncommand = "{sys.executable} my_script.py"\nprotocol = "lines"\n'
    )
    return tmp_path


def test_plain_python_imports_the_bot(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", "import my_bot"], cwd=folder, check=False)
    assert done.returncode == 0


def test_the_installed_command_plays_the_bot(folder: Path, server: RunningServer) -> None:
    """Not a copy of a process that has imported everything, as in other tests."""
    options = ("--matches", "1", *server.address)
    opponent = start("playout-player", "nim", "random", *options)
    done = subprocess.run(
        [BIN / "playout-player", "nim", "my_bot:MyBot", *options],
        cwd=folder,
        env={**os.environ, "XDG_DATA_HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    ((code, output),) = finish_all(opponent)
    assert code == 0, output


def test_the_bot_plays_on_a_ladder(folder: Path) -> None:
    with running_server("--ladder", "nim") as server:
        options = ("--ladder", "nim", "--matches", "2", *server.address)
        mine = start(
            "playout-player", "any", "my_bot:MyBot", "--name", "mine", *options, cwd=folder
        )
        other = start("playout-player", "any", "random", "--name", "other", *options)
        for code, output in finish_all(mine, other):
            assert code == 0, output


def test_the_bot_and_the_script_play_a_tournament(folder: Path) -> None:
    (folder / "spec.toml").write_text(
        'name = "own"\ngames = ["nim"]\nformat = "round_robin"\nrounds = 1\nclock = "10/move"\n'
        '[[entrants]]\nname = "bot"\nplayer = "my_bot:MyBot"\n'
        '[[entrants]]\nname = "script"\nplayer = "engine(name=script)"\n'
    )
    database = ("--database", f"sqlite:///{folder}/own.db")
    code, output = run("playout-tournament", "run", "spec.toml", *database, cwd=folder)
    assert code == 0, output
    assert "2 of 2" in output
