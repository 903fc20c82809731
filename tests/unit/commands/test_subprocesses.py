"""Child processes whose parent is killed before it has sent an order; scripts of Windows."""

from __future__ import annotations

import importlib
import os
import re
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from playout.bots import bot_file
from playout.bots.bot_file import BotFileError
from playout.commands.subprocesses import decoded, script_fault
from playout.games import SpecError
from playout.players.engines.config import EngineConfig
from playout.protocol.tournament_spec import Entrant, TournamentSpec
from playout.server.organizer.spec_file import checks
from support.documents import ROOT

_CALL = re.compile(r"\"(playout[\w.]+:\w+)\"")
#: The ways in which a program reads orders.
_READS = re.compile(r"^from playout.*\b(?:Parent|only_order|run_host)\b", re.MULTILINE)
_SOURCES = {
    f"playout.{path.relative_to(ROOT).with_suffix('').as_posix().replace('/', '.')}": text
    for path in ROOT.glob("*/**/*.py")
    if not path.is_relative_to(ROOT / "tests") and ".venv" not in path.parts
    if not path.is_relative_to(ROOT / "scripts")
    if (text := path.read_text(encoding="utf-8"))
}
_CALLS = {call for text in _SOURCES.values() for call in _CALL.findall(text)} | {
    f"{module}:main" for module, text in _SOURCES.items() if 'own(f"{__name__}:main"' in text
}
#: It reads a file, and its module has another program, which reads orders.
_WITHOUT_ORDER = "playout.laboratory.queue_host:check"
PROGRAMS = sorted(
    call
    for call in _CALLS - {_WITHOUT_ORDER}
    if _READS.search(_SOURCES.get(call.partition(":")[0], ""))
)
for _program in PROGRAMS:
    importlib.import_module(_program.partition(":")[0])  # for seconds, before the tests


@pytest.fixture
def standard_input(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """Yield the other end of the socket that is the standard input."""
    parent, its = socket.socketpair()
    descriptor = its.detach()  # which the program closes
    handlers = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    with os.fdopen(descriptor, closefd=False) as file, parent:
        monkeypatch.setattr(sys, "stdin", file)
        monkeypatch.setattr(sys, "argv", ["program"])
        yield parent
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("sent", [b"", b'{"file": "a'])
@pytest.mark.parametrize("call", PROGRAMS)
def test_a_program_ends_without_a_word_if_its_parent_is_killed_before_the_order(
    call: str, sent: bytes, standard_input: socket.socket, capfd: pytest.CaptureFixture[str]
) -> None:
    module, _, name = call.partition(":")
    function = getattr(importlib.import_module(module), name)
    standard_input.sendall(sent)
    standard_input.shutdown(socket.SHUT_WR)
    code: object = 0
    try:
        code = function([]) if isinstance(function, click.Command) else function()
    except SystemExit as end:
        code = end.code
    assert (code or 0) == 0
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("line", [b"no JSON\n", b'"\xe8"\n', b"[" * 5000])
def test_a_line_that_is_no_message_is_shown(line: bytes) -> None:
    with pytest.raises(ValueError, match="a line is no message") as caught:
        decoded(line, object)
    assert len(str(caught.value)) < 500


def test_no_program_reads_an_order_in_another_way() -> None:
    found = [each for each, text in _SOURCES.items() if re.search(r"decode\w*\(sys\.stdin", text)]
    assert found == ["playout.server.server_command"]  # it has an error of its own


def test_the_programs_are_found() -> None:
    assert len(PROGRAMS) >= 8


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"#!/bin/sh\r\nexec true\r\n", "ends of lines of Windows"),
        (b"\xef\xbb\xbf#!/bin/sh\nexec true\n", "byte order mark"),
        (b"#!/bin/sh\nexec true\n", ""),
        (b"\x7fELF\r\n", ""),
        (b"", ""),
    ],
)
def test_a_script_of_windows_is_told_before_it_is_run(
    content: bytes, fault: str, tmp_path: Path
) -> None:
    """The error of Linux is "No such file or directory" or "Exec format error"."""
    script = tmp_path / "bot.sh"
    script.write_bytes(content)
    script.chmod(0o700)
    (tmp_path / "bot.toml").write_text(
        'protocol = "lines"\ncommand = "./bot.sh 1"\nbuild = "cd . && ./bot.sh"\n'
    )
    config = EngineConfig("own", ("./bot.sh",), "lines", tmp_path)
    entrant = Entrant("Ada", "", command="./bot.sh")
    spec = TournamentSpec("t", ("nim",), "match", (entrant,))
    assert fault in script_fault(script)
    found = [each.fault for _, each in checks(spec, tmp_path)]
    if not fault:
        config.require_program()
        assert found == []
        assert bot_file.read(tmp_path)
        return
    assert fault in found[0]
    with pytest.raises(SpecError, match=fault):
        config.require_program()
    with pytest.raises(BotFileError, match=rf"command: ./bot.sh .*{fault}[^$]*\nbot.toml:3: build"):
        bot_file.read(tmp_path)
