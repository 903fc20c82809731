"""Games of files: registered by `module:Class`, and by nothing that comes from elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from playout import games, players
from playout.commands.options import registered
from playout.commands.subprocesses import others_environment, own_environment
from playout.games.core import plugins

FILE = """
from playout.games import Game


class {name}(Game):
    num_actions = max_plies = 3

    def __init__(self, chips: int = 3) -> None:
        if chips > 9:
            raise ValueError("too many")
        self.chips = chips

    def initial_state(self):
        return (1, 0, self.chips)

    def legal_actions(self, state):
        return () if state[1] else (0,)

    def next_state(self, state, action):
        return (3 - state[0], 0 if state[2] > 1 else state[0], state[2] - 1)


class Abstract(Game):
    pass


number = 3
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with a file that has games; nothing of it is left afterwards."""
    monkeypatch.setenv(plugins.VARIABLE, "")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_file.py").write_text(FILE.format(name="OwnTake"))
    yield tmp_path
    sys.modules.pop("own_file", None)
    games.load.cache_clear()
    games.describe.cache_clear()


def test_a_registered_game_has_the_name_of_its_class(folder: Path) -> None:
    assert games.register("own_file:OwnTake(chips=2)") == "own_take(chips=2)"
    assert games.register(" own_file:OwnTake ") == "own_take"
    assert "own_take" in games.names()
    assert str(games.load("own_take(chips=3)")) == "own_take"
    assert games.describe("own_take").parameters[0].name == "chips"
    assert games.register("nim(chips=3)") == "nim(chips=3)"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Chomp", "chomp"),
        ("DotsAndBoxes", "dots_and_boxes"),
        ("MNKGame", "mnk_game"),
        ("_Game2D", "game2_d"),
    ],
)
def test_the_name_of_a_class_is_spelled_as_those_of_the_games(name: str, expected: str) -> None:
    assert plugins.name_of(type(name, (games.Game,), {})) == expected


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("no_such_file:Game", r"No module named 'no_such_file'; modules are looked for in .*"),
        ("own_file:OwnTke", "no attribute 'OwnTke'"),
        ("own_file:number", "is 3, not a subclass of Game"),
        ("own_file:Abstract", "does not define initial_state"),
        ("own_file:", "write it as module:Class"),
        (":OwnTake", "write it as module:Class"),
        ("own_file:OwnTake(chip=1)", "did you mean 'chips'"),
        ("own_file:OwnTake(chips=10)", "too many"),
        (
            "playout.games.nim:Nim",
            "'playout.games.nim:Nim' cannot be called 'nim': another game is",
        ),
    ],
)
def test_a_class_that_is_no_game_of_ones_own_is_refused(folder: Path, text: str, told: str) -> None:
    with pytest.raises(games.SpecError, match=told):
        games.register(text)


def test_two_registered_games_cannot_have_one_name(folder: Path) -> None:
    (folder / "own_other.py").write_text(FILE.format(name="OwnTake"))
    games.register("own_file:OwnTake")
    with pytest.raises(games.SpecError, match="cannot be called 'own_take'"):
        games.register("own_other:OwnTake")
    assert games.register("own_file:OwnTake", str(folder / "elsewhere")) == "own_take"


@pytest.mark.parametrize(
    "text", ["own_file:OwnTake", "own_take", "os:system", "playout.games.nim:Nim"]
)
def test_a_name_that_was_not_registered_imports_nothing(folder: Path, text: str) -> None:
    for call in (games.load, games.describe):
        with pytest.raises(games.SpecError, match="unknown game"):
            call(text)
    assert "own_file" not in sys.modules
    assert str(folder) not in sys.path


def test_processes_that_are_started_know_the_games(folder: Path) -> None:
    assert plugins.VARIABLE not in os.environ or not plugins.registered()
    games.register("own_file:OwnTake")
    there = {"own_take": plugins.OwnGame("own_file:OwnTake", str(folder))}
    for environment in (own_environment(), others_environment()):
        assert plugins._parsed(environment[plugins.VARIABLE]) == there
    sys.modules.pop("own_file")
    games.load.cache_clear()
    sys.path.remove(str(folder))
    assert games.load("own_take").num_actions == 3  # as in another process


@pytest.mark.parametrize("is_added", [True, False])
def test_a_player_without_its_module_is_refused_with_the_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_added: bool
) -> None:
    other, unused = tmp_path / "other", tmp_path / "unused"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{other}{os.pathsep}{unused}")
    monkeypatch.setattr(sys, "path", [*sys.path, str(other), *[str(tmp_path)] * is_added])
    folders = f"{tmp_path}, {other}" if is_added else f"{other}"
    with pytest.raises(games.SpecError) as refused:
        players.find("no_bot:Bot")
    text = "the player 'no_bot:Bot' cannot be loaded: No module named 'no_bot'; modules are "
    assert str(refused.value) == f"{text}looked for in: {folders}, the installed packages"


def test_a_player_whose_module_lacks_another_one_is_refused_without_the_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lacking_bot.py").write_text("import numpi\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(games.SpecError, match=r"No module named 'numpi'$"):
        players.find("lacking_bot:Bot")


def test_a_name_that_no_file_can_have_is_unknown() -> None:
    name = "e" * 400
    with pytest.raises(games.SpecError, match="unknown player"):
        players.find(name)
    assert registered(name) == name  # the game is refused where it is loaded


@pytest.mark.parametrize("text", ["{" * 5000, "-" * 9999 + "1", "class", "\0"])
def test_a_file_that_python_cannot_parse_is_named_as_well(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.py").write_text(text)
    hint = plugins.file_hint("game", "Game", "mine.py", tmp_path)
    assert str(hint).endswith("named by its module and class: 'mine:MyGame'")
