"""playout.server.runtime.game_compilation: all games are compiled by several processes, once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from playout import games
from playout.server.runtime.game_compilation import compile_games


def test_games_are_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("NUMBA_OPT", "0")
    monkeypatch.setattr(games, "names", lambda: ["tic_tac_toe", "no_game"])
    announced: list[str] = []
    compile_games(announced.append)
    compiled = {folder.name.split("-")[0] for folder in (tmp_path / "playout/compiled").iterdir()}
    assert {"all", "playout.games.tic_tac_toe"} <= compiled
    assert {text.split()[2] for text in announced} == compiled - {"all"}
    assert all(text.startswith("[1/2] Compiling playout.games.") for text in announced)
    announced.clear()
    compile_games(announced.append)
    assert announced == []


def test_games_that_cannot_be_compiled_now_are_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "executable", "/bin/false")
    compile_games(print)
    assert not [*tmp_path.glob("playout/compiled/all-*")]
