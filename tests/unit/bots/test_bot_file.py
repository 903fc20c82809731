"""What the files of a folder say about the start of its bot."""

from __future__ import annotations

from pathlib import Path

import pytest

from playout.bots import bot_file


def test_a_folder_with_the_suffix_of_python_is_no_program(tmp_path: Path) -> None:
    (tmp_path / "old.py").mkdir()
    with pytest.raises(bot_file.BotFileError, match="not 0"):
        bot_file.read(tmp_path)
    (tmp_path / "bot.py").write_text("")
    assert bot_file.read(tmp_path) == bot_file.BotFile("python", "bot.py")
