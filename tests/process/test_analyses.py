"""Analyses by real processes: live reports, limits, and processes that end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import RunningServer, running_server
from support.raw_client import Message, RawClient
from support.waiting import wait_until
from testbed.machine import children, runs

ANALYST = "playout.players.analyst.analyst_process"
NICENESS = 1
CHANGED = {"playout.server.net.player_processes.ANALYST_NICENESS": NICENESS}
#: A process that does not stop is killed at once.
IMPATIENT = {"playout.server.net.player_processes._STOP_S": 0.1}
BOTS = ("--bot", "Max:strong=uct(seed=1)", "--bot", "Stuck=failing_players:StuckPlayer")
FINDABLE = {
    "PYTHONPATH": os.pathsep.join(
        [str(Path(__file__).parents[1] / "support" / "players"), os.environ.get("PYTHONPATH", "")]
    )
}


@pytest.fixture(scope="module")
def studio() -> Iterator[RunningServer]:
    """A server whose bots analyse; its log must have no traceback."""
    with running_server(*BOTS, "--analysis-s", "600", env=FINDABLE, changed=CHANGED) as server:
        yield server
        code, log = server.stop()
    assert code == 0, log
    assert "Traceback" not in log, log


@pytest.fixture
def ann(studio: RunningServer) -> Iterator[RawClient]:
    with RawClient(studio.host, studio.port) as client:
        client.hello(role="spectator")
        yield client


def analyse(
    client: RawClient, *moves: int, game: str = "connect_four", **fields: object
) -> Message:
    return client.ask("analyse", game=game, moves=list(moves), **fields)


def analysts(server: RunningServer) -> list[int]:
    return [each for each in children(server.process.pid) if runs(each, ANALYST)]


def test_a_bot_says_more_and_more_until_it_is_stopped(
    studio: RunningServer, ann: RawClient
) -> None:
    queued = analyse(ann, 3, 3, played=6)
    assert (queued["bot"], queued["seconds"]) == ("Max", 600.0)
    first, second = (ann.hear_until("analysis_update")["info"] for _ in range(2))
    assert second["simulations"] > first["simulations"] > 0
    assert 6 in {action for action, _, _ in first["actions"]}
    (process,) = analysts(studio)
    assert os.getpriority(os.PRIO_PROCESS, process) >= NICENESS
    assert ann.ask("stop_analysis", analysis=queued["analysis"])["type"] == "ok"
    again = analyse(ann, 3, 3, 3)
    assert ann.hear_until("analysis_update", analysis=again["analysis"])["info"]
    assert analysts(studio) == [process], "it goes on with the next analysis"


def test_a_proof_ends_an_analysis(ann: RawClient) -> None:
    analyse(ann, 4, 0, 8, 1, game="tic_tac_toe")
    while not (update := ann.hear_until("analysis_update")).get("over"):
        shown = update["info"]
    assert shown["proven"] == 1
    assert "text" not in update


def test_an_illegal_move_is_named(ann: RawClient) -> None:
    analyse(ann, 3, 77)
    over = ann.hear_until("analysis_update", over=True)
    assert over["text"] == "move 2 is not legal: action 77"


def test_an_analysis_of_one_who_has_gone_makes_room(studio: RunningServer, ann: RawClient) -> None:
    with RawClient(studio.host, studio.port) as bob:
        bob.hello()
        analyse(bob)
        bob.hear_until("analysis_update")
        assert analyse(ann)["place"] == 1
    assert ann.hear_until("analysis_update")["info"]


def test_a_process_that_is_killed_is_told_and_followed_by_another(
    studio: RunningServer, ann: RawClient
) -> None:
    analyse(ann)
    ann.hear_until("analysis_update")
    (process,) = analysts(studio)
    os.kill(process, signal.SIGKILL)
    over = ann.hear_until("analysis_update", over=True)
    assert over["text"] == "the analysis has failed: the process was ended by a signal (Killed)"
    analyse(ann)
    assert ann.hear_until("analysis_update")["info"]
    assert analysts(studio) != [process]


def test_an_analysis_of_a_stopped_process_is_over_at_once(
    studio: RunningServer, ann: RawClient
) -> None:
    """Although it may take ten minutes, and nobody waits."""
    analyse(ann)
    ann.hear_until("analysis_update")
    (process,) = analysts(studio)
    os.kill(process, signal.SIGSTOP)
    over = ann.hear_until("analysis_update", over=True)
    assert over["text"] == "the analysis has failed: the process was ended by a signal (Killed)"
    analyse(ann)
    assert ann.hear_until("analysis_update")["info"]


def test_a_player_that_cannot_be_stopped_is_ended() -> None:
    with (
        running_server(*BOTS, env=FINDABLE, changed=IMPATIENT) as server,
        RawClient(server.host, server.port) as client,
    ):
        client.hello()
        queued = analyse(client, bot="Stuck")
        client.ask("stop_analysis", analysis=queued["analysis"])
        analyse(client)
        assert client.hear_until("analysis_update")["info"]


def test_a_process_that_was_killed_as_idle_gets_no_analysis() -> None:
    """Its exit is known later than that it is killed."""
    at_once = {"playout.server.net.player_processes.IDLE_S": 0.0}
    with (
        running_server(*BOTS, changed=at_once) as server,
        RawClient(server.host, server.port) as client,
    ):
        client.hello()
        for _ in range(4):
            analyse(client, 4, 0, 8, 1, game="tic_tac_toe")
            assert "text" not in client.hear_until("analysis_update", over=True)


def test_no_process_outlives_a_server_that_is_killed() -> None:
    with running_server(*BOTS) as server, RawClient(server.host, server.port) as client:
        client.hello()
        analyse(client)
        client.hear_until("analysis_update")
        (process,) = analysts(server)
        server.process.kill()
        server.process.wait()
        wait_until(lambda: not runs(process, ANALYST))
