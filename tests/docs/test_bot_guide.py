"""docs/writing-a-bot.md: the bots that report and that are in C, and the drawing of a match."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from playout import Limit, Position, games, players
from playout.players import Info
from support.documents import program

ROOT = Path(__file__).parents[2]
DOCUMENT = "docs/writing-a-bot.md"


def test_the_bot_that_reports_returns_its_best_move_when_it_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sampling.py").write_text(program(DOCUMENT, '"""Counts won random matches'))
    monkeypatch.syspath_prepend(tmp_path)
    game = games.load("tic_tac_toe")
    player = players.load("sampling:Sampling", game)
    reported: list[Info] = []

    def report(info: Info) -> None:
        reported.append(info)
        if info.win_rate > 0.9 and info.simulations >= 100:
            player.cancel()

    #  X X .
    #  O O .    X wins at the top right.
    #  . . .
    result = player.choose(Position(game, [0, 3, 1, 4]), Limit(seconds=math.inf), report)
    assert result.action == 2
    assert reported
    assert result.info is not None
    assert result.info.simulations >= reported[-1].simulations
    assert result.info.pv == (2,)


def test_the_drawing_shows_each_move_and_the_board_after_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", program(DOCUMENT, '"""Draws a match')],
        capture_output=True,
        text=True,
        check=True,
    )
    game, moves = games.load("tic_tac_toe"), [4, 0, 8]
    expected = [game.show(game.initial_state())]
    for number, name in enumerate(["b2", "a1", "c3"], start=1):
        expected += [f"{number}. {name}", game.show(Position(game, moves[:number]).state)]
    assert done.stdout.rstrip("\n") == "\n".join(expected).rstrip("\n")


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_the_bot_in_c_prints_a_legal_action(tmp_path: Path) -> None:
    (code,) = re.findall(r"```c\n(.*?)```", (ROOT / DOCUMENT).read_text(), re.DOTALL)
    (tmp_path / "bot.c").write_text(code)
    subprocess.run(["gcc", "-Wall", "-Werror", "-o", "bot", "bot.c"], cwd=tmp_path, check=True)
    lines = [
        json.dumps({"legal_actions": legal, "seconds": 1.5}) for legal in ([7], [3, 5], [4096])
    ]
    done = subprocess.run(
        [tmp_path / "bot"], input="\n".join(lines), capture_output=True, text=True, check=True
    )
    first, second, third = map(int, done.stdout.split())
    assert (first, third) == (7, 4096)
    assert second in (3, 5)
