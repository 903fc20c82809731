"""A server that stands still takes no time from its players."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from support.commands import RunningServer, running_server
from support.raw_client import Message, RawClient
from support.two_clients import WON, TwoClients
from support.waiting import Stopwatch, wait_until


def state(process: int) -> str:
    """Return the state of a process: T while it is stopped."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


def next_of(player: RawClient, *kinds: str) -> Message:
    while (message := player.hear())["type"] not in kinds:
        pass
    return message


def answered_during_a_stop(server: RunningServer, clock: str, seconds: float) -> str | None:
    """Stop a server until a player's clock would be over; the player moves meanwhile.

    Returns how the server takes the move, and None if the player had used its time before.
    """
    process = server.process.pid
    with (
        RawClient(server.host, server.port) as first,
        RawClient(server.host, server.port) as second,
    ):
        match = TwoClients(first, second, clock).match
        watch = Stopwatch()  # the clock of the second player starts later
        first.say("move", match=match, ply=0, action=WON[0])
        if next_of(second, "update", "ended")["type"] == "ended":
            return None
        os.kill(process, signal.SIGSTOP)
        try:
            wait_until(lambda: state(process) == "T", "the server to be stopped")
            used_s = watch.seconds()
            second.say("move", match=match, ply=1, action=WON[1])
            stopped = Stopwatch()
            wait_until(lambda: stopped.seconds() > seconds, "the clock to be over")
        finally:
            os.kill(process, signal.SIGCONT)
        taken = str(next_of(second, "update", "ended")["type"])
        return taken if used_s < seconds else None


@pytest.mark.parametrize(("clock", "seconds"), [("0.1/move", 0.1), ("1/move", 1.0), ("3+0", 3.0)])
def test_a_move_during_a_stop_is_in_time(clock: str, seconds: float) -> None:
    with running_server() as server:
        taken = wait_until(
            lambda: answered_during_a_stop(server, clock, seconds), "a stop before the time is up"
        )
        assert taken == "update"
        code, log = server.stop()
    assert code == 0
    assert "the server stalled for" in log
