"""Bots that a server starts as processes."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from click.testing import CliRunner
from wsproto.frame_protocol import Opcode

from playout.games.core import spec
from playout.players.client.agent import PlayerCache
from playout.players.client.player_command import main as playout_player
from playout.server.cli.server_options import OFFERED as OFFERED_BY_DEFAULT
from playout.server.core.policy import Policy
from playout.server.model.offered_bots import parse_offered_bots
from playout.server.server_command import main as playout_server
from support.commands import RunningServer, finish, run, running_server, start
from support.hub_harness import (
    GAME,
)
from support.raw_client import Message, RawClient
from support.waiting import wait_until
from support.web_client import WebClient
from testbed.machine import children, runs

#: The environment in which a server finds the players that fail.
FINDABLE = {
    "PYTHONPATH": os.pathsep.join(
        [
            str(Path(__file__).parents[1] / "support" / "players"),
            os.environ.get("PYTHONPATH", ""),
        ]
    )
}
#: What the processes of bots run.
PLAYER = "playout.commands.entry_points import player"
#: Enough to see that bots are nice; with more of it, they wait for minutes beside busy processes.
NICENESS = 1
NICE = {"playout.server.net.player_processes.PLAYER_NICENESS": NICENESS}


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    """A real server that offers bots, also some that fail."""
    offered = [f"--bot={player}" for player in ("random", "utc", "failing_players:ExitingPlayer")]
    with running_server("--bots", "2", *offered, env=FINDABLE, changed=NICE) as server:
        yield server
        code, log = server.stop()
    assert code == 0, log
    assert "Traceback" not in log, log


@pytest.fixture
def ann(server: RunningServer) -> Iterator[RawClient]:
    with RawClient(server.host, server.port) as client:
        client.hello()
        yield client
    wait_until(lambda: not bots_of(server))


def bots_of(server: RunningServer) -> list[int]:
    """The processes that it has started for players."""
    started = children(server.process.pid)
    return [each for each in started if runs(each, PLAYER)]


def challenge_bot(client: RawClient, player: str = "random") -> Message:
    """The `seeking`."""
    return client.ask("challenge_bot", player=player, game=GAME, clock="60+1", seat=1)


def test_a_bot_plays_its_match_and_is_gone(server: RunningServer, ann: RawClient) -> None:
    assert challenge_bot(ann)["opponent"] == "random"
    shown = ann.hear_until("started")
    (bot,) = bots_of(server)
    assert os.getpriority(os.PRIO_PROCESS, bot) >= NICENESS
    match = shown["match"]
    while shown["type"] != "ended":
        if shown["to_move"] == 1:
            ply = shown.get("ply", -1) + 1
            ann.say("move", match=match, ply=ply, action=shown["state"].index(0, 2) - 2)
        while (shown := ann.hear())["type"] not in ("update", "ended"):
            pass
    assert shown["reason"] == "rules"
    wait_until(lambda: not bots_of(server))


def test_more_bots_than_there_may_be_wait_in_a_queue(server: RunningServer, ann: RawClient) -> None:
    with (
        RawClient(server.host, server.port) as bob,
        RawClient(server.host, server.port) as cy,
    ):
        bob.hello()
        cy.hello()
        assert challenge_bot(ann)["type"] == challenge_bot(bob)["type"] == "seeking"
        assert challenge_bot(cy)["type"] == "seeking"
        notice = cy.hear_until("notice")
        assert (notice["code"], notice["text"].rpartition(" ")[2]) == ("bot_queued", "1")
        bob.say("resign", match=bob.hear_until("started")["match"])
        assert cy.hear_until("started")["seat"] == 1


def test_challenges_that_are_cancelled_start_no_more_processes(
    server: RunningServer, ann: RawClient
) -> None:
    most = 0
    for _ in range(8):
        ann.ask("cancel", seek=challenge_bot(ann)["seek"])
        most = max(most, len(bots_of(server)))
    assert most <= 2
    challenge_bot(ann)
    assert ann.hear_until("started")["seat"] == 1, "places were freed by processes that exited"


def test_a_bot_that_cannot_be_started_is_told_of(server: RunningServer, ann: RawClient) -> None:
    challenge_bot(ann, "utc")
    notice = ann.hear_until("notice")
    assert notice["code"] == "bot_failed"
    assert ann.ask("list")["seeks"] == []
    assert challenge_bot(ann)["type"] == "seeking"


def test_a_bot_that_crashes_loses(ann: RawClient) -> None:
    challenge_bot(ann, "failing_players:ExitingPlayer")
    match = ann.hear_until("started")["match"]
    ann.say("move", match=match, ply=0, action=0)
    assert ann.hear_until("ended")["reason"] == "void", "it has never moved"


def test_a_lost_connection_ends_the_process_of_the_bot(server: RunningServer) -> None:
    with RawClient(server.host, server.port) as bob:
        bob.hello()
        challenge_bot(bob)
        wait_until(lambda: len(bots_of(server)) == 1)
    wait_until(lambda: not bots_of(server))


@pytest.mark.parametrize("says_so", [True, False])
def test_a_closed_page_frees_its_bot(says_so: bool) -> None:
    soon = {"playout.server.core.handlers.bots.RELOAD_S": 0.3}
    options = ("--bots", "1", "--bot", "random", "--http", "127.0.0.1:0")
    with running_server(*options, changed=NICE | soon) as server:
        assert server.page
        with WebClient(server.page) as ann:
            ann.hello()
            challenge_bot(ann)
            match = ann.hear_until("started")["match"]
            ann.say("move", match=match, ply=0, action=4)
            ann.hear_until("update", ply=1)
            if says_so:
                ann.socket.sendall(ann.frame(b"", Opcode.CLOSE))
        with WebClient(server.page) as bob:
            bob.hello()
            wait_until(lambda: challenge_bot(bob)["type"] == "seeking")
            bob.hear_until("started")


@pytest.mark.parametrize("player", ["EndlessPlayer", "LockingPlayer"])
def test_a_bot_that_never_returns_is_gone_after_its_match(player: str) -> None:
    options = ("--bots", "1", "--bot", f"failing_players:{player}")
    with (
        running_server(*options, env=FINDABLE, changed=NICE) as server,
        RawClient(server.host, server.port) as bob,
    ):
        bob.hello()
        challenge_bot(bob, f"failing_players:{player}")
        match = bob.hear_until("started")["match"]
        bob.say("move", match=match, ply=0, action=0)
        bob.hear_until("update")
        bob.say("resign", match=match)
        bob.hear_until("ended")
        wait_until(lambda: not bots_of(server))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of a parent's death")
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_bots_do_not_outlive_the_server(end: signal.Signals) -> None:
    with (
        running_server(
            *("--bots", "2", "--bot", "failing_players:StuckPlayer"),
            env=FINDABLE,
            changed=NICE,
        ) as server,
        RawClient(server.host, server.port) as bob,
    ):
        bob.hello()
        challenge_bot(bob, "failing_players:StuckPlayer")
        match = bob.hear_until("started")["match"]
        bob.say("move", match=match, ply=0, action=0)
        bob.hear_until("update")
        challenge_bot(bob, "failing_players:StuckPlayer")
        wait_until(lambda: len(bots_of(server)) == 2)
        bots = bots_of(server)
        server.process.send_signal(end)
        wait_until(lambda: not any(runs(bot, PLAYER) for bot in bots))


def test_a_match_goes_on_after_a_server_that_is_killed(tmp_path: Path) -> None:
    options = ("--bots", "1", "--bot", "random", "--database", f"sqlite:///{tmp_path}/playout.db")
    with running_server(*options) as server, RawClient(server.host, server.port) as bob:
        session = bob.hello("Bob")["session"]
        challenge_bot(bob)
        match = bob.hear_until("started")["match"]
        bob.say("move", match=match, ply=0, action=4)
        bob.hear_until("update", ply=1)
        server.process.kill()
    with running_server(*options) as server, RawClient(server.host, server.port) as bob:
        bob.hello("Bob", session=session)
        shown = bob.hear_until("started", match=match)
        action = shown["state"].index(0, 2) - 2
        wait_until(lambda: bob.ask("move", match=match, ply=2, action=action)["type"] == "update")
        assert bob.hear_until("update", ply=3)["player"] == 2


def test_a_person_plays_a_bot_of_a_server_with_tls(tmp_path: Path) -> None:
    """All nine cells are tried in turn; those that are taken are refused and asked for again."""
    authority, key = trustme.CA(), tmp_path / "key.pem"
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_and_cert_chain_pem.write_to_path(key)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    encrypted = ("--host", "127.0.0.1", "--tls-cert", str(key), "--tls-key", str(key))
    cells = [column + row for row in "123" for column in "abc"]
    with running_server("--bots", "1", *encrypted) as server:
        person = start("playout-player", GAME, "human", "--challenge-bot", "playout easy",
                       *server.address, "--tls", "--ca", str(tmp_path / "ca.pem"))  # fmt: skip
        code, output = finish(person, "\n".join(cells) + "\n")
    assert code == 0, output
    assert "waiting for Playout Easy at tic_tac_toe" in output
    assert re.search(r"You won!|You lost\.|It is a tie\.", output)


def test_challenge_bot_excludes_opponent() -> None:
    more = ("--challenge-bot", "random", "--opponent", "Bob")
    result = CliRunner().invoke(playout_player, [GAME, "human", *more])
    assert result.exit_code == 2
    assert "--challenge-bot names the opponent" in result.output


def test_a_person_is_told_that_no_bot_comes(server: RunningServer) -> None:
    code, output = run("playout-player", GAME, "human", "--challenge-bot", "utc", *server.address)
    assert code == 1
    assert "utc has failed to start" in output


# By default.


@pytest.mark.parametrize(
    ("options", "bots"),
    [
        ([], 4),
        (["--http", "none"], 0),
        (["--http", "0.0.0.0:8080", "--insecure"], 0),
        (["--host", "0.0.0.0", "--insecure"], 0),
        (["--proxy-protocol"], 0),
        (["--http-proxied"], 0),
        (["--host", "::1", "--http", "[::1]:8080"], 4),
        (["--host", "0.0.0.0", "--insecure", "--bots", "3"], 3),
        (["--bots", "0"], 0),
    ],
)
def test_bots_are_there_where_only_this_machine_can_connect(
    options: list[str], bots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    policies: list[Policy] = []
    monkeypatch.setattr(
        "playout.server.server_command.serve", lambda settings, policy: policies.append(policy)
    )
    result = CliRunner().invoke(playout_server, options)
    assert result.exit_code == 0, result.output
    assert [policy.bots for policy in policies] == [bots]


def test_a_player_that_cannot_be_read_is_refused() -> None:
    result = CliRunner().invoke(playout_server, ["--bot", "uct(time"])
    assert result.exit_code == 2
    assert "cannot read 'uct(time'" in result.output


def test_the_players_that_are_offered_by_default_exist() -> None:
    for bot in parse_offered_bots(OFFERED_BY_DEFAULT):
        for player in (bot.player, *bot.players.values()):
            PlayerCache(spec.parse(player))  # raises SpecError
