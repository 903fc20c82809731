"""playout.commands.journal_file: records survive a line that was not completed."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec
import pytest

from playout.commands import journal_file


class Noted(msgspec.Struct):
    number: int


def test_a_line_that_was_not_completed_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "new" / "journal.jsonl"
    for number in range(3):
        with journal_file.opened(path, "in use") as file:
            assert journal_file.stored(file, Noted) == [Noted(each) for each in range(number)]
            journal_file.append(file, Noted(number))
            file.write(b'{"number": ')  # killed


def test_a_file_is_used_by_one_process(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with (
        journal_file.opened(path, "used"),
        pytest.raises(click.ClickException, match="another one plays"),
        journal_file.opened(path, "another one plays"),
    ):
        pass
