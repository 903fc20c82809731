"""`playout-player new-bot` and `new-game`: what they refuse; the guides' tests play the folders."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest

from playout import games
from playout.bots import bot_file
from support import scale
from support.commands import invoke, run


@pytest.mark.parametrize("game", ["connect_four", "othello(size=6)", "pig"])
def test_a_new_bot_is_one_of_a_competition_and_of_the_laboratory(game: str, tmp_path: Path) -> None:
    code, output = invoke("playout-player", "new-bot", str(tmp_path / "bot"), "--game", game)
    assert code == 0, output
    assert bot_file.read(tmp_path / "bot").command == "my_bot.py"
    conditions = tomllib.loads((tmp_path / "bot" / "lab.toml").read_text())
    assert conditions["games"] == [str(games.load(game))]
    test = (tmp_path / "bot" / "test_my_bot.py").read_text()
    assert (test.count(".rolled(random.randrange)"), "import random" in test) == (
        (2, True) if games.load(game).has_chance else (0, False)
    )


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The folder of a new bot for a game of a file, with this file, as its README says."""
    assert run("playout-player", "new-game", "game", cwd=tmp_path)[0] == 0
    words = ("playout-player", "new-bot", "../bot", "--game", "my_game:MyGame")
    code, output = run(*words, cwd=tmp_path / "game")
    assert code == 0, output
    assert "copy the module `my_game`" in (tmp_path / "bot" / "README.md").read_text()
    shutil.copy(tmp_path / "game" / "my_game.py", tmp_path / "bot")
    return tmp_path / "bot"


def lab_test(bot: Path, *versions: str) -> tuple[int, str]:
    words = ("--laboratories", str(bot.parent / "laboratories"), "--http", "none", "--pairs", "1")
    return run("playout-lab", "test", *versions, *words, cwd=bot)


def test_the_laboratory_knows_the_game_of_a_file(own: Path) -> None:
    conditions = (own / "lab.toml").read_text()
    assert 'games = ["my_game:MyGame"]' in conditions
    code, output = lab_test(own, ".", ".")
    assert (code, "games can run or read something outside of the sandbox" in output) == (2, True)
    code, output = lab_test(own, ".", ".", "--file", "lab.toml")
    assert (code, "has the same files" in output) == (1, True), output
    assert lab_test(own, ".", ".") == (code, output), "the file is trusted now"
    (own / "lab.toml").unlink()
    code, output = run("playout-lab", "new", "--game", "my_game:MyGame", cwd=own)
    assert code == 0, output
    assert (own / "lab.toml").read_text() == conditions


@pytest.mark.skipif(not scale.slow, reason="it plays a test for seconds: --slow")
def test_the_laboratory_plays_the_game_of_a_file(own: Path) -> None:
    shutil.copytree(own, own.parent / "old")
    (own / "my_bot.py").write_text("# new\n" + (own / "my_bot.py").read_text())
    code, output = lab_test(own, "../old", ".", "--file", "lab.toml")
    assert (code, "a larger --pairs continues it" in output) == (125, True), output


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


def test_options_before_a_subcommand_are_refused(tmp_path: Path) -> None:
    code, output = invoke("playout-player", "--guest", "new-bot", str(tmp_path / "bot"))
    assert (code, "options before new-bot have no effect" in output) == (2, True)


def test_a_folder_with_a_blank_is_quoted(tmp_path: Path) -> None:
    code, output = invoke("playout-player", "new-game", str(tmp_path / "my game"))
    assert (code, f"cd '{tmp_path}/my game'," in output) == (0, True)


def test_the_help_of_the_command_names_both() -> None:
    assert "new-bot" in invoke("playout-player", "--help")[1]
    assert "--game" in invoke("playout-player", "new-bot", "--help")[1]
