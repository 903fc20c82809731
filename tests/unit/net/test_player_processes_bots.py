"""net.player_processes: what the process of a bot is given, and how its end is reported."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.epollreactor import EPollReactor
from twisted.internet.protocol import Factory

from playout.server.core.effects import EndBot, StartBot
from playout.server.net import player_processes
from playout.server.net.player_processes import BotProcesses
from support.waiting import wait_until

ORDER = StartBot("1", "Ursa", "random", "nim", "secret")
#: Takes the place of Python: writes what it was given, and exits.
BOT = """#!/bin/sh
(printf '%s\\n' "$@"; env; read -r line; echo "input $line") > "$SHOWN"
echo no such book >&2
exit 1
"""


class BotEnds:
    """Processes of bots, and the ends that are reported, in an event loop of their own."""

    def __init__(self) -> None:
        self.reactor: Any = EPollReactor()  # type: ignore[no-untyped-call]
        self.ended: list[tuple[str, str]] = []
        self.starting: list[tuple[str, str]] = []
        self.processes = BotProcesses(
            self.reactor,
            Factory(),
            lambda *end: self.ended.append(end),
            lambda *doing: self.starting.append(doing),
        )

    def wait_for_end(self) -> tuple[str, str]:
        wait_until(lambda: self.reactor.iterate(0.01) or self.ended)
        return self.ended[0]


@pytest.fixture
def bots() -> Iterator[BotEnds]:
    made = BotEnds()
    yield made
    made.processes.close()
    made.reactor.removeAll()


def test_the_token_of_a_bot_is_neither_in_its_environment_nor_in_its_arguments(
    bots: BotEnds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bot"
    program.write_text(BOT)
    program.chmod(0o755)
    monkeypatch.setenv("SHOWN", str(tmp_path / "shown"))
    monkeypatch.setattr(sys, "executable", str(program))
    bots.processes.start(ORDER)
    assert bots.wait_for_end() == ("1", "it has ended with exit code 1: no such book")
    *given, read = (tmp_path / "shown").read_text().splitlines()
    assert read == "input secret"
    assert "PLAYOUT_SESSION_FD=0" in given
    assert "PLAYOUT_NAME=Ursa" in given
    assert not [line for line in given if "secret" in line]


def test_a_bot_that_is_ended_is_reported_once_it_has_exited(bots: BotEnds) -> None:
    bots.processes.start(ORDER)
    bots.processes.end(EndBot("1"))
    bots.processes.end(EndBot("2"))
    assert bots.wait_for_end()[1].startswith("it was ended by a signal (")


def test_a_bot_that_cannot_be_started_is_reported_later(
    bots: BotEnds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", os.devnull)
    bots.processes.start(ORDER)
    assert not bots.ended
    assert bots.wait_for_end()[1].startswith("it cannot be started: ")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Compiling playout.players.uct for this machine, once ...", "is compiled for this machin"),
        ("Preparing the player ... 12 s", "is being started: 0 s so far"),
        ("/home/ada/secret", ""),
    ],
)
def test_a_bot_that_prepares_itself_is_reported(
    bots: BotEnds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, told: str
) -> None:
    program = tmp_path / "bot"
    program.write_text(f'#!/bin/sh\necho "{said}" >&2\ntouch "$SHOWN"\nsleep 60\n')
    program.chmod(0o755)
    monkeypatch.setenv("SHOWN", str(tmp_path / "shown"))
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr(player_processes, "_LOOK_AT_BOTS_S", 0.01)
    bots.processes.start(ORDER)
    wait_until((tmp_path / "shown").exists)
    if told:
        wait_until(lambda: bots.reactor.iterate(0.01) or bots.starting)
    else:
        for _ in range(10):
            bots.reactor.iterate(0.01)
    assert [what.startswith(told) for _, what in bots.starting] == ([True] if told else [])
