"""playout.commands.progress: lines about work that takes long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from playout.commands import progress
from playout.commands.options import ImportedCommand
from playout.commands.progress import doing
from support.waiting import wait_until


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The lines that are said."""
    monkeypatch.setattr(progress, "FIRST_S", 0.0)
    monkeypatch.setattr(progress, "INTERVAL_S", 0.01)
    said: list[str] = []
    progress.say_by(said.append)
    yield said
    progress._speaker.reset()


def test_a_text_is_repeated_until_the_end_of_the_block(lines: list[str]) -> None:
    with doing("Loading"):
        wait_until(lambda: len(lines) > 2, "three lines")
    assert all(re.fullmatch(r"Loading \.\.\.( \d+ s)?", line) for line in lines)
    lines.clear()
    with doing("Sorting"):
        wait_until(lambda: lines, "another line")
    assert set(lines) == {"Sorting ..."}


def test_the_innermost_text_is_said(lines: list[str]) -> None:
    with doing("outer"):
        with doing("inner"):
            lines.clear()
            wait_until(lambda: lines, "a line")
            assert lines[0].startswith("inner")
        lines.clear()
        wait_until(lambda: lines, "another line")
        assert lines[0].startswith("outer")


def test_nothing_is_said_about_what_is_over_soon(
    lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "FIRST_S", 3600.0)
    with doing("Loading"):
        pass
    assert lines == []


def test_nothing_is_said_after_an_interrupt(lines: list[str]) -> None:
    progress.stop()
    with doing("Loading", at_once=True):
        pass
    assert lines == []


def test_nothing_is_said_at_once_on_a_machine_that_was_just_started(
    lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "FIRST_S", 3600.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: 60.0)
    progress._speaker.reset()
    progress.say_by(lines.append)
    with doing("Loading"):
        pass
    assert lines == []


def test_blocks_with_one_text_that_follow_each_other_are_announced_once(
    lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "INTERVAL_S", 3600.0)
    for text in ("Compiling nim", "Compiling nim", "Compiling hex"):
        with doing(text, at_once=True):
            pass
    assert lines == ["Compiling nim ...", "Compiling hex ..."]


def test_lines_are_printed_on_standard_error(
    lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    progress._speaker.reset()
    progress.say("Starting")
    assert capsys.readouterr() == ("", "Starting\n")


def test_a_subcommand_says_that_it_is_loaded(
    lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(progress, "waited_for", lines, raising=False)
    (tmp_path / "slow_subcommand.py").write_text(
        "from playout.commands import progress\n"
        "from support.waiting import wait_until\n"
        "wait_until(lambda: progress.waited_for, 'a line')\n"
        "main = None\n"
    )
    ImportedCommand("report", "slow_subcommand", "text").imported()
    assert lines[0] == "Loading report ..."
