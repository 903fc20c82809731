"""The first mistakes of authors of bots: each is explained once, and shows in the exit code."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.commands import RunningServer, finish_all, run, start

BOTS = """\
from playout import Player, PlayResult


class Hasty(Player):
    def __init__(self, game):
        self.opening = 3

    def choose(self, position, limit, report=None):
        return PlayResult(position.legal_actions[0])


class FromOne(Player):
    def choose(self, position, limit, report=None):
        return PlayResult(len(position.legal_actions))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "my_bot.py").write_text(BOTS)
    (tmp_path / "my_game.py").write_text("class Chomp(Game):\n    pass\n")
    (tmp_path / "broken.py").write_text("class (")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("nim", "my_bot.py"),
            "a player in a file is named by its module and class: 'my_bot:Hasty'",
        ),
        (("nim", "my_bot"), "'my_bot:Hasty'"),
        (("nim", "my_bot.py:FromOne"), "'my_bot:FromOne'"),
        (("nim", "broken.py(time=1)"), "'broken:MyPlayer'"),
        (("nim", "./my_bot.py"), "a class in a file is module:Class, as in my_bot:MyBot"),
        (
            ("my_game.py", "random"),
            "a game in a file is named by its module and class: 'my_game:Ch",
        ),
        (("--options", "my_bot.py"), "'my_bot:Hasty'"),
    ],
)
def test_a_file_in_place_of_a_class_is_explained(
    folder: Path, words: tuple[str, ...], told: str
) -> None:
    code, output = run("playout-player", *words, cwd=folder)
    assert code == 2
    assert told in " ".join(output.split())


def test_a_player_that_does_not_call_the_base_class_is_explained_once(
    folder: Path, server: RunningServer
) -> None:
    code, output = run("playout-player", "nim", "my_bot:Hasty", *server.address, cwd=folder)
    assert code == 1
    text = "Hasty.__init__ does not call that of Player: begin it with super().__init__(game)"
    assert output.count(text) == 1
    assert "Traceback" not in output


def test_a_match_lost_by_illegal_moves_is_a_failure(folder: Path, server: RunningServer) -> None:
    words = ("connect_four", "my_bot:FromOne", "--seat", "1", *server.address)
    players = [
        start("playout-player", *words, cwd=folder),
        start("playout-player", "connect_four", "random", *server.address),
    ]
    (code, output), (other, _) = finish_all(*players)
    assert (code, other) == (1, 0)
    assert "(illegal_moves)" in output
    told = "action 7 (no action) is not legal here; legal are, as number (name): 0 (1), 1 (2), "
    assert told in output
