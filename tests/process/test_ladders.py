"""A ladder with real processes: bots enter with one command, and a killed server goes on."""

from __future__ import annotations

import json
import urllib.request
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from playout.server.model.records import StoredMatch
from playout.server.storage import Database
from support.commands import RunningServer, finish_all, running_server, start
from support.raw_client import Message, RawClient
from support.waiting import wait_until
from testbed.machine import reserve_port

GAME, MATCHES = "nim", 6


def api(server: RunningServer, path: str) -> Any:
    """The data of an address of the API."""
    assert server.page
    host, port = server.page
    with urllib.request.urlopen(f"http://{host}:{port}/api/{path}", timeout=60) as answer:
        return json.load(answer)


def stored(url: str) -> list[StoredMatch]:
    with closing(Database(url)) as database:
        return list(database.matches())


def test_bots_play_on_after_the_server_was_killed(tmp_path: Path) -> None:
    url, port = f"sqlite:///{tmp_path}/playout.db", str(reserve_port())
    options = ("--port", port, "--database", url, "--http", "127.0.0.1:0")
    with running_server(*options) as first:
        bots = [
            start(
                *("playout-player", "any", "random", "--ladder", GAME, "--name", name),
                *("--matches", str(MATCHES), "--port", port, "--retry-s", "120"),
            )
            for name in ("Ada", "Bob")
        ]
        wait_until(lambda: sum(bool(each.ended) for each in stored(url)) >= MATCHES // 2)
        first.process.kill()
        with running_server(*options) as second:
            for code, output in finish_all(*bots):
                assert code == 0, output
                assert "entered, waiting for matches" in output
            ladder = api(second, f"ladders/{GAME}")
            # The ratings of all matches are kept up, too, and the new server goes on with them.
            wait_until(lambda: api(second, f"players?game={GAME}")["matches"] == MATCHES)
    played = stored(url)
    results = [each for each in played if each.ended and each.ended.winner]
    assert len(results) == ladder["matches"] == MATCHES
    assert all(each.ended for each in played)
    pairs = Counter(each.started.ladder_pair for each in results if each.started.ladder_pair)
    assert list(pairs.values()) == [2] * (MATCHES // 2)
    for each in ladder["standings"]:
        assert each["matches"] == MATCHES
        assert len(each["version"]) == 12, "a digest"


def test_a_name_and_a_version_are_given_if_none_is_said(tmp_path: Path) -> None:
    with running_server("--http", "127.0.0.1:0") as server:
        player = ("playout-player", "any", "random", "--ladder", GAME, "--matches", "2")
        named = start(*player, *server.address)
        wait_until(lambda: ladder_count(server) == 1)
        other = start(*player, "--name", "Bob", "--bot-version", "2.1", *server.address)
        assert [code for code, _ in finish_all(named, other)] == [0, 0]
        standings = api(server, f"ladders/{GAME}")["standings"]
        versions = {each["name"]: each["version"] for each in standings}
    assert versions.pop("Bob") == "2.1"
    (name,) = versions
    assert name.startswith("random-")


def test_a_bot_that_avoids_matches_loses_them_and_waits() -> None:
    """Over sockets: Bob makes no first move where Ann does."""
    with running_server("--http", "127.0.0.1:0", "--ladder", f"{GAME}=3/move") as server:
        address = server.host, server.port
        with RawClient(*address) as ann, RawClient(*address) as bob:
            for client, name in ((ann, "Ann"), (bob, "Bob")):
                client.hello(name, guest=False)
                assert client.ask("enter_ladder", game=GAME)["type"] == "ok"
            ends = [miss_a_match(ann) for _ in range(2)]
            assert [(each["reason"], each.get("winner", 0) != 0) for each in ends] == [
                ("void", False),
                ("time", True),
            ]
            assert bob.hear_until("notice", code="ladder_unplayed")
            bob.ask("leave_ladder", game=GAME)
            error = bob.ask("enter_ladder", game=GAME, version="2")
            assert (error["type"], error["code"]) == ("error", "rate_limited")
            assert error["seconds"] > 60
        rows = {each["name"]: each for each in api(server, f"ladders/{GAME}")["standings"]}
    assert (rows["Bob"]["unplayed"], rows["Bob"]["unplayed_share"]) == (rows["Bob"]["lost"] + 1, 1)
    assert rows["Ann"]["unplayed"] == 0


def miss_a_match(player: RawClient) -> Message:
    """Play the next match against a bot that never moves; returns its end."""
    started = player.hear_until("started")
    if started["to_move"] == started["seat"]:
        player.say("move", match=started["match"], ply=len(started["moves"]), action=0)
    return player.hear_until("ended", match=started["match"])


def ladder_count(server: RunningServer) -> int:
    """How many have entered."""
    return sum(each["present"] for each in api(server, "ladders")["items"])
