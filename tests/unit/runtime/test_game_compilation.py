"""playout.server.runtime.game_compilation: games are compiled by processes, once a machine."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from twisted.logger import LogEvent, formatEvent, globalLogPublisher

from playout import games
from playout.server.runtime import game_compilation
from playout.server.runtime.game_compilation import (
    MOST_ATTEMPTS,
    GameCompiler,
    all_are_compiled,
    in_order,
)
from support.waiting import wait_until

NAMES = ["chess", "go", "nim", "tic_tac_toe"]


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GameCompiler]:
    """A compiler with one core, in a process that has loaded no game, on a new machine."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(games, "names", lambda: NAMES)
    monkeypatch.setattr(game_compilation, "_is_loaded", lambda name: False)
    monkeypatch.setattr(game_compilation, "usable_cores", lambda: 1)
    game_compilation._records.cache_clear()
    made = GameCompiler()
    yield made
    made.close()
    game_compilation._records.cache_clear()


class Steps:
    """Takes the place of a process: each game takes until `release`, or fails."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun: list[str] = []
        self.faults: dict[str, str] = {}
        self._release = threading.Semaphore(0)
        monkeypatch.setattr(game_compilation._Worker, "_make", lambda _, name: self._make(name))

    def _make(self, name: str) -> str:
        self.begun.append(name)
        self._release.acquire()
        return self.faults.get(name, "")

    def release(self, number: int = 1) -> None:
        self._release.release(number)


def test_games_are_compiled_once(
    compiler: GameCompiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(games, "names", lambda: ["tic_tac_toe"])
    assert not all_are_compiled()
    compiler.wait(["tic_tac_toe"])
    compiled = {folder.name.split("-")[0] for folder in (tmp_path / "playout/compiled").iterdir()}
    assert {"all", "playout.games.tic_tac_toe", "playout.ratings.opening_generator"} <= compiled
    assert all_are_compiled()
    compiler.require("tic_tac_toe")
    monkeypatch.setattr(sys, "executable", "/bin/false")  # a second time needs no process
    second = GameCompiler()
    second.wait(["tic_tac_toe"])
    second.require("tic_tac_toe")


def test_a_game_whose_process_ends_is_tried_again_and_then_not_available(
    compiler: GameCompiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    started: list[int] = []
    start = game_compilation._compiling
    monkeypatch.setattr(
        game_compilation, "_compiling", lambda niceness: started.append(1) or start(niceness)
    )
    told: list[str] = []
    compiler.call_when_ready(told.append)
    compiler.wait(["nim"])
    assert len(started) == MOST_ATTEMPTS
    with pytest.raises(games.SpecError, match="'nim' cannot be compiled"):
        compiler.require("nim")
    wait_until(lambda: told == ["nim"], "the report")


def test_a_game_that_somebody_waits_for_does_not_wait_for_others(
    compiler: GameCompiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = Steps(monkeypatch)
    compiler.compile(NAMES)
    wait_until(lambda: steps.begun == ["chess"], "the first game")
    assert compiler.progress() == (
        "0 of 4 games are ready; the others are being compiled for this machine, once"
    )
    with pytest.raises(games.NotReady, match=r"tic_tac_toe is being compiled .* about 8 s") as why:
        compiler.require("tic_tac_toe")
    wait_until(lambda: steps.begun == ["chess", "tic_tac_toe"], "the second game")
    steps.release(len(NAMES))
    compiler.wait(NAMES)
    assert steps.begun == ["chess", "tic_tac_toe", "go", "nim"]
    assert str(why.value) == "tic_tac_toe is ready"
    assert compiler.progress() is None
    for name in NAMES:
        compiler.require(name)


def test_a_game_that_fails_does_not_keep_the_others(
    compiler: GameCompiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = Steps(monkeypatch)
    steps.faults["chess"] = "a fault"
    steps.release(len(NAMES))
    compiler.wait(NAMES)
    compiler.require("go")
    with pytest.raises(games.SpecError):
        compiler.require("chess")


def test_games_of_the_cache_are_not_reported_and_do_not_change_the_estimate(
    compiler: GameCompiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged: list[str] = []

    def observe(event: LogEvent) -> None:
        logged.append(formatEvent(event))

    steps = Steps(monkeypatch)
    monkeypatch.setattr(game_compilation, "_is_compiled", lambda name: name != "nim")
    steps.release(2)
    globalLogPublisher.addObserver(observe)
    try:
        compiler.wait(["chess", "go"])
        with pytest.raises(games.NotReady, match="wait about 8 s"):
            compiler.require("nim")
        steps.release()
        compiler.wait(["nim"])
        wait_until(lambda: logged, "the report")
    finally:
        globalLogPublisher.removeObserver(observe)
    (report,) = logged
    assert re.fullmatch(r"nim is ready after \d+ s; 1 to go", report)


def test_changed_games_are_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nim.py").write_text("one")
    monkeypatch.setattr(games, "__file__", str(tmp_path / "__init__.py"))
    folders = []
    for text in ("one", "two", "one"):
        (tmp_path / "nim.py").write_text(text)
        folders.append(game_compilation._records.__wrapped__())
    assert folders[0] == folders[2] != folders[1]


def test_a_process_ends_with_the_compiler(compiler: GameCompiler) -> None:
    compiler.compile(["chess"])
    (worker,) = compiler._workers
    process = wait_until(lambda: worker._process, "the process")
    compiler.close()
    assert process._process.wait() != 0
    assert not worker.thread.is_alive()


def test_games_that_are_played_most_are_compiled_first() -> None:
    order = in_order(["othello", "no_game", "chess"])
    assert order[:3] == ["othello", "chess", "connect_four"]
    assert sorted(order) == games.names()
