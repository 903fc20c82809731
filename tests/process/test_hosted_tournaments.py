"""Tournaments that a server hosts: it starts the entrants, also after kill -9 in any action."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from playout.protocol.messages import Reason
from playout.protocol.tournament_spec import TournamentSpec, loads
from playout.server.core.accounts import digest
from playout.server.model.records import Account, StoredTournament
from playout.server.storage import Database
from support import scale
from support.commands import RunningServer, running_server
from support.http_site import ask
from support.posts import receiving
from support.raw_client import Message, RawClient
from support.waiting import PATIENCE_S, wait_until
from testbed.machine import children

TOKEN = "5" * 32
TOML = """\
name = "Friday"
games = ["nim"]
format = "swiss"
rounds = 2
clock = "30/move"
concurrency = 2
"""
ENTRANT = """
[[entrants]]
name = "{}"
player = "random"
"""


def url_of(folder: Path) -> str:
    return f"sqlite:///{folder}/playout.db"


def add_administrator(folder: Path) -> None:
    database = Database(url_of(folder))
    database.migrate()
    database.put_account(
        Account(id="boss", name="Boss", digest=digest(TOKEN), created_at=0.0, administrator=True)
    )
    database.close()


@contextmanager
def hosting(folder: Path, *options: str) -> Iterator[tuple[RunningServer, RawClient]]:
    """A server that hosts tournaments of `random`, and its administrator's connection."""
    bots = ("--bots", "4", "--bot", "random")
    with (
        running_server("--database", url_of(folder), *bots, *options) as server,
        RawClient(server.host, server.port) as boss,
    ):
        assert boss.hello("Boss", token=TOKEN)["type"] == "welcome"
        yield server, boss


def create(boss: RawClient, *names: str, toml: str = TOML, **changes: Any) -> Message:
    draft = boss.ask("check_tournament", toml=toml + "".join(map(ENTRANT.format, names)))
    assert draft.get("faults", []) == []
    return boss.ask("create_tournament", spec=draft["spec"] | changes, hosted=True)


def stored(folder: Path) -> list[StoredTournament]:
    database = Database(url_of(folder), only_read=True)
    try:
        return [
            found
            for each in database.tournaments()
            if (found := database.tournament(each.created.tournament))
        ]
    finally:
        database.close()


def spec(tournament: StoredTournament) -> TournamentSpec:
    return loads(tournament.created.spec)


def ended(folder: Path) -> int:
    return sum(match.ended is not None for each in stored(folder) for match in each.matches)


def test_what_the_server_does_not_host_is_refused(tmp_path: Path) -> None:
    add_administrator(tmp_path)
    with hosting(tmp_path) as (server, boss):
        bad = TOML + 'evaluation = "/etc/passwd"\nsandbox = {}\ncluster = { dask = "local" }\n'
        bad += 'openings = { file = "/etc/passwd" }\n'
        bad += ENTRANT.format("Ann") + '[[entrants]]\nname = "Bob"\ncommand = "touch /tmp/owned"\n'
        bad += '[[entrants]]\nname = "Cy"\nplayer = "os:system"\n'
        draft = boss.ask("check_tournament", toml=bad)
        faults = {".".join(map(str, each["path"])): each for each in draft["faults"]}
        assert set(faults) == {
            *("evaluation", "sandbox", "cluster", "openings.file"),
            *("entrants.1.command", "entrants.2.player"),
        }
        assert faults["entrants.2.player"]["line"] == bad.count("\n")
        assert "spec" not in draft
        assert boss.ask("check_tournament", toml="name = ")["faults"][0]["line"] == 1
        large = boss.ask("check_tournament", toml=f"rounds = 1{'0' * 30}")
        assert ["rounds"] in [each["path"] for each in large["faults"]]
        assert boss.ask("check_tournament", values={"name": 3})["faults"][0]["path"] == ["name"]
        entrants = [{"name": "Ann", "version": ""}, {"name": "Bob", "version": ""}]
        good = {"name": "x", "games": ["nim"], "format": "match", "entrants": entrants}
        for wrong in ({"command": "true"}, {"player": "flat"}, {"player": "os:system"}):
            entrants[1] = {"name": "Bob", "version": "", **wrong}
            refused = boss.ask("create_tournament", spec=good, hosted=True)
            assert refused["code"] == "bad_tournament"
        with RawClient(server.host, server.port) as guest:
            guest.hello()
            assert guest.ask("check_tournament")["code"] == "not_allowed"
            refused = guest.ask("change_tournament", tournament="x", paused=True)
            assert refused["code"] == "not_allowed"
    assert stored(tmp_path) == []


def test_a_failed_organizer_is_on_the_page_until_the_next_one_works(tmp_path: Path) -> None:
    add_administrator(tmp_path)
    with hosting(tmp_path, "--http", "127.0.0.1:0") as (server, boss):
        others = children(server.process.pid)
        toml = f'{TOML}[[entrants]]\nname = "Bob"\n'
        tournament = create(boss, "Ann", toml=toml)["tournament"]
        organizer = wait_until(lambda: [*{*children(server.process.pid)}.difference(others)])
        where = server.page
        assert where

        def page() -> str:
            return ask(where, f"/tournaments/{tournament}?part=progress").body.decode()

        wait_until(lambda: children(organizer[0]), "it has started Ann")
        assert "exit code" not in page()
        os.kill(organizer[0], signal.SIGTERM)
        wait_until(lambda: "has ended with exit code 143" in page())
        wait_until(lambda: "exit code" not in page())
        (only,) = stored(tmp_path)
        assert not only.ended
        _, log = server.stop()
    assert "Terminated. The matches played so far are stored." in log
    assert "it starts again in 2 s" in log
    assert "playout-tournament" not in log


@pytest.mark.skipif(not scale.slow, reason="it starts eleven servers: --slow")
def test_nothing_is_half_done_after_kills_in_each_action(tmp_path: Path) -> None:
    add_administrator(tmp_path)
    with hosting(tmp_path) as (server, boss):
        tournament = create(boss, "Ann", "Bob", "Cy", "Dee")["tournament"]
        server.process.send_signal(signal.SIGKILL)
    (only,) = stored(tmp_path)
    assert only.created.hosted, "the answer comes after the record"

    new = {"name": "Eve", "version": "", "player": "random"}
    late = {"name": "Fay", "version": "", "player": "random"}
    actions: list[tuple[dict[str, Any], Any]] = [
        ({"paused": True}, lambda each: each.created.paused),
        ({"rounds": 3}, lambda each: spec(each).rounds == 3),
        ({"replaced": "Ann", "entrant": new}, lambda each: spec(each).entrants[0].name == "Eve"),
        ({"entrant": late}, lambda each: spec(each).entrants[-1].name == "Fay"),
    ]
    for fields, holds in actions:
        with hosting(tmp_path) as (server, boss):
            boss.say("change_tournament", tournament=tournament, id=1, **fields)
            server.process.send_signal(signal.SIGKILL)
        (only,) = stored(tmp_path)
        with hosting(tmp_path) as (server, boss):
            if not holds(only):  # it was killed before the action was stored: nothing of it is
                done = boss.ask("change_tournament", tournament=tournament, **fields)
                assert done["type"] == "ok", done
            server.process.send_signal(signal.SIGKILL)
        (only,) = stored(tmp_path)
        assert holds(only), fields

    with hosting(tmp_path) as (server, boss):
        before = ended(tmp_path)
        assert boss.ask("watch_tournament", tournament=tournament)["paused"]
        boss.ask("change_tournament", tournament=tournament, paused=False)
        wait_until(lambda: ended(tmp_path) > before)
        server.process.send_signal(signal.SIGKILL)
    with hosting(tmp_path) as (server, boss):
        boss.say("watch_tournament", tournament=tournament, id=7)
        boss.hear_until("tournament", over=True)
    (only,) = stored(tmp_path)
    assert only.ended
    names = {name for match in only.matches for name in match.started.players}
    assert {each.name for each in spec(only).entrants} <= names


@pytest.mark.skipif(not scale.slow, reason="it starts seven servers: --slow")
@pytest.mark.parametrize("awaits", ["nothing", "the record", "the answer"])
def test_nothing_is_half_ended_after_a_kill(awaits: str, tmp_path: Path) -> None:
    add_administrator(tmp_path)
    players = {name: f"{number}" * 32 for number, name in enumerate(("Gus", "Hal"), start=1)}
    database = Database(url_of(tmp_path))
    for name, token in players.items():
        database.put_account(Account(id=name, name=name, digest=digest(token), created_at=0.0))
    database.close()
    toml = TOML.replace("swiss", "match") + "".join(
        f'[[entrants]]\nname = "{name}"\n' for name in players
    )
    with hosting(tmp_path) as (server, boss), ExitStack() as clients:
        tournament = create(boss, toml=toml)["tournament"]
        for name, token in players.items():
            client = clients.enter_context(RawClient(server.host, server.port))
            client.hello(name, token=token)
            client.ask("join", matches=2)
        wait_until(lambda: sum(len(each.matches) for each in stored(tmp_path)) == 2)
        boss.say("end_tournament", tournament=tournament, id=1)
        if awaits == "the record":
            wait_until(lambda: stored(tmp_path)[0].ended)
        elif awaits == "the answer":
            boss.hear_until("ok")
        server.process.send_signal(signal.SIGKILL)
    (only,) = stored(tmp_path)
    with hosting(tmp_path) as (server, boss):
        if not only.ended:
            assert awaits == "nothing"
            assert boss.ask("end_tournament", tournament=tournament)["type"] == "ok"
        wait_until(lambda: ended(tmp_path) == 2)
    (only,) = stored(tmp_path)
    assert only.ended
    assert {each.ended.winner for each in only.matches if each.ended} == {0}


@pytest.mark.skipif(not scale.slow, reason="it plays a tournament: --slow")
def test_each_round_is_told_to_a_webhook(tmp_path: Path) -> None:
    add_administrator(tmp_path)
    with receiving(204) as program:
        options = ("--webhooks", str(tmp_path / "webhooks"), "--webhook", f"{program.origin}/told")
        with hosting(tmp_path, *options) as (_, boss):
            tournament = create(boss, "Ann", "Bob", "Cy", "Dee")["tournament"]
            rounds: list[tuple[str, int]] = []
            while len(rounds) < 2:
                event = json.loads(program.posts.get(timeout=PATIENCE_S).body)
                if event["type"] == "round.ended":
                    rounds.append((event["data"]["tournament"], event["data"]["round"]))
    assert rounds == [(tournament, 1), (tournament, 2)]


@pytest.mark.skipif(not scale.slow, reason="it plays for minutes: --slow")
def test_two_tournaments_and_a_ladder_share_two_cores(tmp_path: Path) -> None:
    """Seconds of matches by weight within 10 %, and no loss on time at 0.1 s a move."""
    add_administrator(tmp_path)
    plans = {"swiss": (12, 2), "round_robin": (50, 1), "ladder": (0, 1)}
    with hosting(tmp_path, "--bot", "uct") as (_, boss):
        for kind, (rounds, weight) in plans.items():
            toml = TOML.replace("swiss", kind).replace("rounds = 2", f"rounds = {rounds}")
            toml = toml.replace("30/move", "0.1/move").replace("nim", "connect_four")
            toml += f"weight = {weight}\n"
            entrants = "".join(ENTRANT.format(f"{kind} {each}") for each in range(4))
            draft = boss.ask("check_tournament", toml=toml + entrants.replace("random", "uct"))
            assert draft.get("faults", []) == []
            assert boss.ask("create_tournament", spec=draft["spec"], hosted=True)["tournament"]
        wait_until(lambda: ended(tmp_path) >= 90, seconds=6 * PATIENCE_S)
    found = stored(tmp_path)
    began = max(min(match.started.at for match in each.matches) for each in found)
    until = max(match.ended.at for each in found for match in each.matches if match.ended)
    used = {
        spec(each).format: sum(
            max(0.0, (match.ended.at if match.ended else until) - max(began, match.started.at))
            for match in each.matches
        )
        for each in found
    }
    reasons = [match.ended.reason for each in found for match in each.matches if match.ended]
    for kind, (_, weight) in plans.items():
        assert used[kind] / sum(used.values()) == pytest.approx(weight / 4, rel=0.1), used
    assert reasons.count(Reason.TIME) == 0, "on an idle machine"
