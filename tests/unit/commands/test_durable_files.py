"""playout.commands.durable_files: old or new files, and records behind an incomplete line."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import click
import msgspec
import pytest

from playout.commands import durable_files
from playout.commands.durable_files import write_atomically


class Noted(msgspec.Struct):
    number: int


def test_a_line_that_was_not_completed_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "new" / "journal.jsonl"
    for number in range(3):
        with durable_files.opened(path, "in use") as file:
            assert durable_files.stored(file, Noted) == [Noted(each) for each in range(number)]
            durable_files.append(file, Noted(number))
            file.write(b'{"number": ')  # killed


def test_a_file_is_used_by_one_process(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with (
        durable_files.opened(path, "used"),
        pytest.raises(click.ClickException, match="another one plays"),
        durable_files.opened(path, "another one plays"),
    ):
        pass


def test_a_file_is_replaced_and_has_the_usual_mode(tmp_path: Path) -> None:
    path, usual = tmp_path / "file", tmp_path / "usual"
    usual.touch()
    for data in (b"first", b"second"):
        write_atomically(path, data)
        assert path.read_bytes() == data
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)


def test_a_failure_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(durable_files.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]
