"""Reading with a limit, and writing at once or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from playout.players.nets.files import NetError, read_limited

LIMIT = 1 << 20


@pytest.mark.parametrize("size", [1, LIMIT])
def test_a_file_of_at_most_the_limit_is_read(tmp_path: Path, size: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * size)
    assert read_limited(path, LIMIT, "a text") == b"x" * size


def test_a_larger_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    os.truncate(path, 5 << 30)  # takes no room on the disk
    with pytest.raises(NetError, match="file has 5,120 MiB; expected a text of at most 1 MiB"):
        read_limited(path, LIMIT, "a text")


def test_a_path_that_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").touch()
    for name, text in {
        "pipe": "pipe is not a plain file; expected a text",
        "": "is not a plain file; expected a text",
        "empty": "empty is empty; expected a text",
        "missing": "missing cannot be read",
        "null\0": "cannot be read",
    }.items():
        with pytest.raises(NetError, match=text):
            read_limited(tmp_path / name, LIMIT, "a text")
    with pytest.raises(NetError, match="is not a plain file"):
        read_limited(Path("/dev/zero"), LIMIT, "a text")
