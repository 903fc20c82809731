"""The first start of a server on a machine: it listens before it has compiled the games."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import finish, installed
from support.processes import children_of, is_gone
from support.raw_client import RawClient
from support.waiting import wait_until

#: A server has one game. Beside other work, a process of low priority takes minutes.
CHANGES = """
from playout import games
from playout.server.runtime import game_compilation
games.names = lambda: ["nim"]
game_compilation.LOWEST_NICENESS = 0
"""


@contextlib.contextmanager
def server_with_nim(folder: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Start a server on a machine without compiled games, and yield it with its port."""
    *python, code = installed("playout-server")
    options = ["--port", "0", "--http", "none", "--database", "none"]
    server = subprocess.Popen(
        [*python, f"{CHANGES}{code}", *options],
        env=os.environ | {"XDG_CACHE_HOME": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert server.stdout
        line = next(each for each in server.stdout if "listening on" in each)
        yield server, int(line.rpartition(":")[2])
    finally:
        server.kill()
        server.communicate()


@pytest.mark.long
def test_a_server_listens_before_the_games_are_compiled(tmp_path: Path) -> None:
    with server_with_nim(tmp_path) as (server, port):
        assert not [*tmp_path.glob("playout/compiled/all-*/*")]
        with RawClient("127.0.0.1", port) as ada, RawClient("127.0.0.1", port) as bob:
            for client in (ada, bob):
                client.hello()
                client.say("seek", game="nim", clock="60+1", id=1)
                notice = client.hear()
                assert (notice["type"], notice["code"]) == ("notice", "game_compiling")
                assert "nim is being compiled for this machine" in notice["text"]
            for client in (ada, bob):
                assert client.hear_until("started")["game"] == "nim"
        server.send_signal(signal.SIGINT)
        code, output = finish(server)
    assert code == 0
    assert "nim is ready after" in output
    assert "Traceback" not in output


def test_the_processes_end_with_the_server(tmp_path: Path) -> None:
    with server_with_nim(tmp_path) as (server, _):
        compiling = wait_until(lambda: children_of(server.pid), "the process that compiles")
        server.send_signal(signal.SIGINT)
        code, _ = finish(server)
        assert code == 0
    wait_until(lambda: all(map(is_gone, compiling)), "the end of the process")
