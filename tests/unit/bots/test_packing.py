"""The files of a folder, also in a commit, that are packed."""

from __future__ import annotations

import io
import shutil
import tarfile
from pathlib import Path

import click
import pytest

from playout.bots.packing import files_of, packed_commit
from playout.protocol.versions import OTHER_FOLDERS
from support.repositories import BotRepository


@pytest.mark.parametrize("name", [*OTHER_FOLDERS, ".venv"])
def test_a_folder_without_files_of_the_bot_is_left_out(name: str, tmp_path: Path) -> None:
    for folder in (tmp_path / name, tmp_path / "nets" / name):
        folder.mkdir(parents=True)
        (folder / "bot.py").write_text("")
    (tmp_path / "nets" / "net.bin").write_text("")
    assert files_of(tmp_path) == [tmp_path / "nets" / "net.bin"]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_folder_is_packed_as_it_is_in_a_commit(tmp_path: Path) -> None:
    made = BotRepository(tmp_path / "repository")
    made.commit({"ada/bot.py": "first\n", "ada/.hidden": "", "ada/lab.toml": "", "bob/bot.py": ""})
    first = made.git("rev-parse", "--short=7", "HEAD").strip()
    made.commit({"ada/bot.py": "second\n"})
    name, content = packed_commit(made.top / "ada", "main~1")
    assert name == f"ada-{first}.tar.gz"
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        assert archive.getnames() == [".hidden", "bot.py"]
        file = archive.extractfile("bot.py")
        assert file
        assert file.read() == b"first\n"
    for folder, revision, told in (
        (made.top / "ada", "nothing", "'nothing' is no revision"),
        (made.top / "ada/bot.py", "main", "no folder of a git repository"),
        (tmp_path, "main", "no folder of a git repository"),
    ):
        with pytest.raises(click.UsageError, match=told):
            packed_commit(folder, revision)
