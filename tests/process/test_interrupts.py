"""Ctrl-C before a command handles it itself: one line and exit code 130, whenever it comes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from support.commands import PATIENCE_S, finish, installed, start

ROOT = Path(__file__).parents[2]
#: Found by Python at its start. Sends the process SIGINT when it imports a certain module, or at
#: another event of https://docs.python.org/3/library/audit_events.html.
SITECUSTOMIZE = """
import os, signal, sys

wanted = os.environ.pop("INTERRUPT_AT", None)

def interrupt(event, arguments=()):
    if event == wanted:
        os.kill(os.getpid(), signal.SIGINT)

class Finder:
    def find_spec(self, name, path, target=None):
        interrupt(name)

sys.meta_path.insert(0, Finder())
sys.addaudithook(interrupt)
"""
#: When the signal comes: at imports that commands need, then while they work.
POINTS = [
    ("playout-server", (), "playout.server.server_command"),
    ("playout-server", (), "numba"),
    ("playout-server", (), "sqlalchemy"),
    ("playout-server", ("--warm", "othello"), "playout.games.othello"),
    ("playout-server", (), "sqlite3.connect"),
    ("playout-server", ("accounts", "create", "Ada"), "sqlite3.connect"),
    ("playout-player", ("nim", "random"), "click"),
    ("playout-player", ("nim", "random"), "llvmlite.binding"),
    ("playout-player", ("nim", "random"), "playout.games.nim"),
    ("playout-tournament", ("list",), "playout.server.organizer.tournament_command"),
    ("playout-tournament", ("list",), "sqlalchemy"),
    ("playout-train", ("status", "."), "playout.players.training.training_command"),
    ("playout-train", ("new", "nim"), "playout.games.nim"),
]


def interrupted(folder: Path, words: list[str], at: str) -> subprocess.CompletedProcess[str]:
    """A command after it was sent SIGINT at a certain point; it stores what it has in a folder."""
    (folder / "sitecustomize.py").write_text(SITECUSTOMIZE)
    path = os.pathsep.join([str(folder), str(ROOT / "src"), str(ROOT / "scripts")])
    own = {"PYTHONPATH": path, "INTERRUPT_AT": at, "XDG_DATA_HOME": str(folder)}
    return subprocess.run(
        words,
        env=os.environ | own,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.mark.parametrize(("command", "arguments", "at"), POINTS)
def test_an_interrupted_start_is_one_line(
    tmp_path: Path, command: str, arguments: tuple[str, ...], at: str
) -> None:
    done = interrupted(tmp_path, [*installed(command), *arguments], at)
    assert done.returncode == 130
    assert done.stderr.endswith("Interrupted.\n")
    for word in ("Traceback", "Exception", "Aborted"):
        assert word not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("script", "at"),
    [("bench", "click"), ("bench", "rich"), ("levels", "numba"), ("levels", "testbed.levels")],
)
def test_an_interrupted_start_of_a_script_is_one_line(tmp_path: Path, script: str, at: str) -> None:
    last = (ROOT / "scripts" / script).read_text().partition(" -c \\\n    '")[2]
    code = last.removesuffix('\' "$@"\n')
    done = interrupted(tmp_path, [sys.executable, "-P", "-c", code, "--help"], at)
    lines = [each for each in done.stderr.splitlines() if not each.startswith("Loading ")]
    assert (done.returncode, lines) == (130, ["Interrupted."])


def test_a_command_whose_parent_ignores_the_signal_ignores_it(tmp_path: Path) -> None:
    words = ["bash", "-c", "trap '' INT; exec \"$@\"", "bash", *installed("playout-bridge")]
    done = interrupted(tmp_path, [*words, "--version"], "click")
    assert done.returncode == 0, done.stderr


def test_a_player_that_waits_for_a_server_can_be_interrupted() -> None:
    with socket.socket() as bound:  # does not listen, and keeps others from this port
        bound.bind(("127.0.0.1", 0))
        port = str(bound.getsockname()[1])
        player = start("playout-player", "nim", "random", "--port", port, "--retry-s", "1000")
        assert player.stdout
        while "Trying again" not in (line := player.stdout.readline()):
            assert line
        player.send_signal(signal.SIGINT)
        code, output = finish(player)
    assert code == 130
    assert "Traceback" not in output
