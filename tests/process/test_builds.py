"""Builds of versions: faults of the machine."""

from __future__ import annotations

import os
import shutil
import tarfile
from collections import namedtuple
from pathlib import Path

import pytest

from playout.bots.builder import BuildTerms
from playout.bots.git_source import SourceError
from playout.bots.packing import write_tar
from playout.laboratory.builds import Builds
from support.repositories import LINES_TOML


@pytest.fixture
def builds(tmp_path: Path) -> Builds:
    return Builds(tmp_path / "builds", BuildTerms((), "1/move", None))


@pytest.fixture
def bot(tmp_path: Path) -> Path:
    (tmp_path / "bot").mkdir()
    (tmp_path / "bot" / "bot.toml").write_text(LINES_TOML)
    (tmp_path / "bot" / "bot.py").write_text("")
    return tmp_path / "bot"


def pack(folder: Path, upload: Path) -> None:
    with upload.open("wb") as file:
        write_tar(folder, file, "w")


def test_a_full_disk_is_a_fault_of_the_machine_and_the_next_call_builds(
    builds: Builds, bot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = dict.fromkeys(("f_bavail", "f_frsize", "f_favail", "f_files"), 0)
    (bot / "link").symlink_to("bot.py")  # a stage that fails asks for the room on the disk
    with monkeypatch.context() as patched:
        patched.setattr(os, "statvfs", lambda path: namedtuple("found", nothing)(**nothing))
        with pytest.raises(SourceError, match="this machine has a fault: the unpack has met"):
            builds.get("1", lambda upload: pack(bot, upload))
    place = builds.folder_of("1")
    assert "== stopped: the unpack has met a full disk" in (place / "log.txt").read_text()
    assert not (place / "build.json").exists()
    (bot / "link").unlink()
    _, build = builds.get("1", lambda upload: pack(bot, upload))
    assert build.bot.command == "python3 bot.py"


def test_a_file_that_cannot_be_read_is_explained(builds: Builds, bot: Path) -> None:
    def fail(upload: Path) -> None:
        shutil.rmtree(bot)
        with tarfile.open(upload, "w") as archive:
            archive.add(bot / "bot.py")

    with pytest.raises(SourceError, match=r"this machine has a fault: .*bot\.py"):
        builds.get("1", fail)
