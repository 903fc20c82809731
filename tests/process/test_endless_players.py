"""Players that never return: their processes end nevertheless, and say so."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.commands import RunningServer, finish, run, running_server, start
from support.forked import ForkedCommand
from support.raw_client import RawClient
from support.waiting import PATIENCE_S, wait_until
from testbed.machine import processor_seconds

GAME = "tic_tac_toe"
_PLAYERS = str(Path(__file__).parents[1] / "support" / "players")
FINDABLE = os.environ | {"PYTHONPATH": f"{_PLAYERS}:{os.environ.get('PYTHONPATH', '')}"}
#: Short times, so that the tests are; a process has long enough to exit by itself.
SHORT = {
    "playout.players.client.client_process.REACT_S": 0.3,
    "playout.players.client.client_process.EXIT_S": 0.3,
    "playout.players.client.client_process._KILL_S": PATIENCE_S,
    "playout.players.client.match_driver.GRACE_S": 0.3,
}
#: A busy machine lets nothing run for so long, too: only for players that let nothing else run.
LOCKED = SHORT | {
    "playout.players.client.client_process._KILL_S": 0.3,
    "playout.players.client.match_driver.STALL_S": 0.3,
}


@pytest.fixture(scope="module")
def host() -> Iterator[RunningServer]:
    with running_server() as server:
        yield server


@contextmanager
def started(
    host: RunningServer, player: str, clock: str, changed: dict[str, float] = SHORT
) -> Iterator[ForkedCommand]:
    """A match has begun in which this player is to move first, and it thinks."""
    with RawClient(host.host, host.port) as opponent:
        opponent.hello()
        assert opponent.ask("seek", game=GAME, seat=2, clock=clock)["type"] == "seeking"
        words = (GAME, f"failing_players:{player}", *host.address)
        process = start("playout-player", *words, env=FINDABLE, changed=changed)
        opponent.hear_until("started")
        assert process.stdout
        while "thinking" not in (line := process.stdout.readline()):
            assert line
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("player", ["EndlessPlayer", "EndlessListener"])
def test_a_signal_ends_a_player_that_never_returns(
    host: RunningServer, player: str, number: signal.Signals, code: int
) -> None:
    with started(host, player, "none") as process:
        process.send_signal(number)
        ended_with, output = finish(process)
    assert ended_with == code
    assert "The code of the player does not return" in output


def test_a_signal_ends_a_player_that_lets_nothing_else_run(host: RunningServer) -> None:
    with started(host, "LockingPlayer", "none", LOCKED) as process:
        used = processor_seconds(process.pid)
        wait_until(lambda: processor_seconds(process.pid) > used + 0.1, "it has taken the lock")
        process.send_signal(signal.SIGINT)
        code, output = finish(process)
    assert code == -signal.SIGKILL
    assert "The code of the player lets nothing else run" in output


def test_a_player_that_thinks_after_its_match_is_given_up(host: RunningServer) -> None:
    with started(host, "EndlessPlayer", "1/move") as process:
        code, output = finish(process)
    assert code == 1
    assert "The player still thinks, although its match is over" in output


@pytest.mark.parametrize("player", ["LockingPlayer", "EndlessListener"])
def test_a_player_that_lets_nothing_else_run_ends_after_its_clock(
    host: RunningServer, player: str
) -> None:
    with started(host, player, "1/move", LOCKED) as process:
        code, output = finish(process)
    assert code == -signal.SIGALRM
    assert "failing_players.py" in output, "the place where it hangs"


TOURNAMENT = """
name = "endless"
games = ["tic_tac_toe"]
format = "match"
clock = "1/move"
openings = {{ plies = 2 }}
concurrency = 1
[[entrants]]
name = "endless"
player = "failing_players:EndlessPlayer(once={once})"
[[entrants]]
name = "random"
player = "random"
"""


def test_a_tournament_starts_a_player_again_that_was_given_up(tmp_path: Path) -> None:
    spec = tmp_path / "SPEC.toml"
    spec.write_text(TOURNAMENT.format(once=tmp_path / "hung"))
    options = ("--database", f"sqlite:///{tmp_path}/t.db", "--http", "none")
    words = ("playout-tournament", "run", str(spec), *options)
    code, output = run(*words, env=FINDABLE, changed=SHORT)
    assert code == 0, output
    assert "endless (1) has ended with exit code 1; it is started again in 0.5 s" in output
    assert "2 of 2  tic_tac_toe: " in output
