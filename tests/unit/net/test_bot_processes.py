"""net.bot_processes: what the process of a bot is given."""

from __future__ import annotations

import os
from typing import Any

import pytest
from twisted.internet.testing import MemoryReactorClock

from playout.server.core.effects import StartBot
from playout.server.net import bot_processes
from playout.server.net.bot_processes import BotProcesses


def test_the_token_of_a_bot_is_neither_in_its_environment_nor_in_its_arguments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[bytes] = []

    def start_own(*words: str, environment: dict[str, str], input_: int, **options: Any) -> None:
        assert environment["PLAYOUT_SESSION_FD"] == "0"
        assert "secret" not in " ".join([*words, *environment.values()])
        read.append(os.read(input_, 100))
        raise OSError

    monkeypatch.setattr(bot_processes, "start_own", start_own)
    processes = BotProcesses(MemoryReactorClock(), None, lambda bot, why: None)
    processes.start(StartBot("1", "Ursa", "random", "nim", "secret"))
    assert read == [b"secret\n"]
