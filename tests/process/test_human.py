"""The player `human`, at a terminal and through a pipe."""

from __future__ import annotations

import ctypes
import os
import pty
import re
import select
import signal
import subprocess
from collections.abc import Iterator

import pytest

from support.commands import PATIENCE_S, RunningServer, finish, running_server, start
from support.forked import BIN


@pytest.fixture(scope="module")
def host() -> Iterator[RunningServer]:
    with running_server() as server:
        yield server


@pytest.fixture
def opponent(host: RunningServer) -> Iterator[subprocess.Popen[str]]:
    """Start a random player that moves second."""
    process = start("playout-player", "tic_tac_toe", "random(seed=1)", "--seat", "2", *host.address)
    yield process
    process.kill()
    process.communicate()


def human(host: RunningServer) -> subprocess.Popen[str]:
    return start("playout-player", "tic_tac_toe", "human", *host.address)


def read_until(process: subprocess.Popen[str], *texts: str) -> str:
    """Read the output of a process until it contains texts in order, also amid a line."""
    assert process.stdout
    return until(process.stdout.fileno(), *texts)


def until(descriptor: int, *texts: str) -> str:
    said, wanted = "", re.compile(".*".join(map(re.escape, texts)), re.DOTALL)
    while not wanted.search(said):
        ready, _, _ = select.select([descriptor], [], [], PATIENCE_S)
        assert ready, f"no {texts} in {said!r}"
        chunk = os.read(descriptor, 4096).decode()
        assert chunk, f"no {texts} in {said!r}"
        said += chunk
    return said


def test_a_whole_match_through_a_pipe(host: RunningServer, opponent: subprocess.Popen[str]) -> None:
    """All nine cells are tried in turn; for an occupied one, the prompt is repeated."""
    cells = [column + row for row in "123" for column in "abc"]
    code, output = finish(human(host), "\n".join(cells) + "\n")
    assert code == 0, output
    assert "You are X" in output
    assert re.search(r"You won!|You lost\.|It is a tie\.", output)
    assert "\x1b" not in output  # no colours in a pipe
    assert finish(opponent)[0] == 0


def test_nonsense_help_and_lists_do_not_end_it(
    host: RunningServer, opponent: subprocess.Popen[str]
) -> None:
    said = "\n".join(["", "d4", "\x00\xff\x1b[A", "x" * 10_000, "help", "moves", "board", "resign"])
    code, output = finish(human(host), said + "\n")
    assert code == 0, output
    assert "'d4' is not legal here; legal are: a1, b1, c1" in output
    assert "list the legal moves" in output
    assert "a1 b1 c1 a2 b2 c2 a3 b3 c3" in output
    assert "resigned" in output
    assert "You lost." in output


def test_the_end_of_the_input_resigns(host: RunningServer, opponent: subprocess.Popen[str]) -> None:
    code, output = finish(human(host), "b2\n")
    assert code == 0, output
    assert "The input has ended: resigning." in output
    assert "resigned" in finish(opponent)[1]


def test_draws_and_takebacks_are_asked_for_by_words(host: RunningServer) -> None:
    """The opponent declines draws, and agrees to takebacks."""
    terms = ("--seat", "2", "--takebacks", *host.address)
    opponent = start("playout-player", "tic_tac_toe", "random(seed=1)", *terms)
    process = human(host)
    assert process.stdin
    read_until(process, "Your move: ")
    for word, answer in (
        ("accept", "has no open offer"),
        ("draw", "once both players have moved"),
        ("b2", "They played"),
        ("abort", "can only resign"),
        ("draw", "has declined the draw"),
        ("takeback", "You took your move back"),
    ):
        process.stdin.write(f"{word}\n")
        process.stdin.flush()
        read_until(process, answer, "Your move: ")  # they may come at once
    code, output = finish(process, "b2\nresign\n")
    assert code == 0
    assert "You played b2" in output  # it is free again
    assert "asks to take a move back: agreed" in finish(opponent)[1]


def test_a_match_is_aborted_before_the_first_move(
    host: RunningServer, opponent: subprocess.Popen[str]
) -> None:
    process = human(host)
    read_until(process, "Your move: ")
    code, output = finish(process, "abort\n")
    assert code == 0
    assert "You have aborted the match, so no other match is sought." in output


def test_ctrl_c_asks_first_and_then_resigns(
    host: RunningServer, opponent: subprocess.Popen[str]
) -> None:
    process = human(host)
    assert process.stdin
    read_until(process, "Your move: ")
    process.send_signal(signal.SIGINT)
    read_until(process, "Resign? [y/N] ")
    process.stdin.write("n\n")
    process.stdin.flush()
    read_until(process, "Your move: ")
    process.send_signal(signal.SIGINT)
    read_until(process, "Resign? [y/N] ")
    code, output = finish(process, "y\n")
    assert code == 0
    assert "resigned" in output


def test_ctrl_c_is_heard_by_every_thread(
    host: RunningServer, opponent: subprocess.Popen[str]
) -> None:
    """The system gives a signal to any thread; the player then neither waits nor is killed."""
    process = human(host)
    assert process.stdin
    read_until(process, "Your move: ")
    heard = 0
    for thread in sorted(map(int, os.listdir(f"/proc/{process.pid}/task"))):
        if ctypes.CDLL(None).tgkill(process.pid, thread, int(signal.SIGINT)) != 0:
            continue  # a thread of the start, which has ended since
        read_until(process, "Resign? [y/N] ")
        process.stdin.write("n\n")
        process.stdin.flush()
        read_until(process, "Your move: ")
        heard += 1
    assert heard > 1
    code, output = finish(process, "resign\n")
    assert code == 0
    assert "resigned" in output


def test_ctrl_c_between_matches_exits(host: RunningServer) -> None:
    process = start("playout-player", "nim", "human", *host.address)
    read_until(process, "waiting for an opponent")
    process.send_signal(signal.SIGINT)
    assert finish(process)[0] == 130


def test_the_match_can_end_while_one_is_asked(host: RunningServer) -> None:
    opponent = start("playout-player", "tic_tac_toe", "random", "--seat", "2", *host.address)
    process = start("playout-player", "tic_tac_toe", "human", "--clock", "4/move", *host.address)
    code, output = "", ""
    read_until(process, "Your move: ")
    assert process.stdin
    process.stdin.write("b2\n")
    process.stdin.flush()
    read_until(process, "Your move: ")
    stdin, process.stdin = process.stdin, None  # open, and silent
    code, output = finish(process)
    stdin.close()
    assert code == 0
    assert "ran out of time" in output
    assert "ran out of time (time)" in finish(opponent, None)[1]


def test_at_a_terminal_there_are_colours_and_the_last_move_is_marked(
    host: RunningServer, opponent: subprocess.Popen[str]
) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [BIN / "playout-player", "tic_tac_toe", "human", *host.address],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm-256color"},
        start_new_session=True,
    )
    os.close(theirs)
    until(ours, "Your move: ")
    os.write(ours, b"b2\n")
    shown = until(ours, "They played")
    assert "\x1b[1;7;31mX" in shown  # reverse: the last move
    os.write(ours, b"resign\n")
    assert process.wait(PATIENCE_S) == 0
    os.close(ours)
