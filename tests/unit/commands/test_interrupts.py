"""Ctrl-C with a text of a command's own."""

from __future__ import annotations

import pytest

from playout.commands import interrupts


def test_a_command_exits_with_its_own_text(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exited, interrupts.with_text("The rest is stored."):
        raise KeyboardInterrupt
    assert exited.value.code == 130
    assert capsys.readouterr().err == "\nThe rest is stored.\n"
