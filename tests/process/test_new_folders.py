"""`playout-player new-bot` and `new-game`: what they refuse; the guides' tests play the folders."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from playout import games
from playout.bots import bot_file
from support.commands import invoke


@pytest.mark.parametrize("game", ["connect_four", "othello(size=6)"])
def test_a_new_bot_is_one_of_a_competition_and_of_the_laboratory(game: str, tmp_path: Path) -> None:
    code, output = invoke("playout-player", "new-bot", str(tmp_path / "bot"), "--game", game)
    assert code == 0, output
    assert bot_file.read(tmp_path / "bot").command == "my_bot.py"
    conditions = tomllib.loads((tmp_path / "bot" / "lab.toml").read_text())
    assert conditions["games"] == [str(games.load(game))]


@pytest.mark.parametrize("command", ["new-bot", "new-game"])
def test_no_file_is_overwritten(command: str, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    code, output = invoke("playout-player", command, str(tmp_path))
    assert (code, "README.md exists: choose another folder" in " ".join(output.split())) == (
        2,
        True,
    )
    assert [each.name for each in tmp_path.iterdir()] == ["README.md"]


def test_an_unknown_game_is_explained_before_anything_is_written(tmp_path: Path) -> None:
    code, output = invoke("playout-player", "new-bot", str(tmp_path / "bot"), "--game", "othelo")
    assert (code, "did you mean 'othello'" in output) == (2, True)
    assert not (tmp_path / "bot").exists()


def test_the_help_of_the_command_names_both() -> None:
    assert "new-bot" in invoke("playout-player", "--help")[1]
    assert "--game" in invoke("playout-player", "new-bot", "--help")[1]
