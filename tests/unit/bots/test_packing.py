"""The files of a folder that are packed."""

from __future__ import annotations

from pathlib import Path

import pytest

from playout.bots.packing import files_of
from playout.protocol.versions import OTHER_FOLDERS


@pytest.mark.parametrize("name", [*OTHER_FOLDERS, ".venv"])
def test_a_folder_without_files_of_the_bot_is_left_out(name: str, tmp_path: Path) -> None:
    for folder in (tmp_path / name, tmp_path / "nets" / name):
        folder.mkdir(parents=True)
        (folder / "bot.py").write_text("")
    (tmp_path / "nets" / "net.bin").write_text("")
    assert files_of(tmp_path) == [tmp_path / "nets" / "net.bin"]
