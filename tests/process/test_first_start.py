"""The first start of a server on a machine: it listens before it has compiled the games."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path

from test_interrupts import installed

from support.commands import PATIENCE_S, finish
from support.processes import children_of, is_gone
from support.raw_client import RawClient
from support.waiting import wait_until


def test_a_server_listens_before_the_games_are_compiled(tmp_path: Path) -> None:
    own = {"XDG_CACHE_HOME": str(tmp_path), "NUMBA_OPT": "0"}
    words = [*installed("playout-server"), "--port", "0", "--http", "none", "--database", "none"]
    server = subprocess.Popen(
        words,
        env=os.environ | own,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert server.stdout
        line = next(each for each in server.stdout if "listening on" in each)
        host, _, port = line.split()[-1].rpartition(":")
        assert not [*tmp_path.glob("playout/compiled/all-*/*")]
        with RawClient(host, int(port)) as ada, RawClient(host, int(port)) as bob:
            for client in (ada, bob):
                client.hello()
                client.say("seek", game="nim", clock="60", id=1)
                notice = client.hear()
                assert (notice["type"], notice["code"]) == ("notice", "game_compiling")
                assert "nim is being compiled for this machine" in notice["text"]
            compiling = wait_until(lambda: children_of(server.pid), "the processes")
            for process in compiling:  # the game is compiled again
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            for client in (ada, bob):
                assert client.hear_until("started")["game"] == "nim"
        left = children_of(server.pid)
        server.send_signal(signal.SIGINT)
        code, output = finish(server)
    finally:
        server.kill()
        server.wait()
    assert code == 0
    assert "a process that compiles nim was ended by a signal (Killed)" in output
    assert "Traceback" not in output
    wait_until(lambda: all(map(is_gone, left)), "the end of the processes", PATIENCE_S)
