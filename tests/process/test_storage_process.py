"""The storage process: if any process dies, no record is lost and no process is left."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import signal
import sqlite3
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from playout.server.storage import Database
from soak.disturbed_run import SQLITE, MoveRow, StoredRow, stored
from support.commands import RunningServer, run, running_server
from support.postgres import Postgres
from support.processes import children_of, is_gone
from support.raw_client import RawClient
from support.two_clients import WON, TwoClients
from support.waiting import wait_until


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"{SQLITE}{tmp_path / 'playout.db'}"


def the_process(server: RunningServer) -> int:
    """Return the storage process of a server, when the one before it has exited."""

    def only() -> int:
        found = children_of(server.process.pid)
        return found[0] if len(found) == 1 else 0

    return wait_until(only, "the storage process")


@contextlib.contextmanager
def dueling(
    server: RunningServer, clock: str = "none", *, guests: bool = True
) -> Iterator[TwoClients]:
    with (
        RawClient(server.host, server.port) as first,
        RawClient(server.host, server.port) as second,
    ):
        yield TwoClients(first, second, clock, guest=guests)


def notices(player: RawClient) -> list[str]:
    return [each["code"] for each in player.heard if each["type"] == "notice"]


def stored_match(url: str, two_clients: TwoClients) -> StoredRow:
    return stored(url)[two_clients.match]


def moves(count: int) -> list[MoveRow]:
    return [MoveRow(ply, 1 + ply % 2, action) for ply, action in enumerate(WON[:count])]


@contextlib.contextmanager
def outage(url: str, **options: Any) -> Iterator[tuple[RunningServer, TwoClients]]:
    """A server whose database cannot be written, and a match whose third move waits for that."""
    file = url.removeprefix(SQLITE)
    with (
        running_server("--database", f"{url}?timeout=0.1", **options) as server,
        dueling(server) as two_clients,
    ):
        two_clients.play(2)
        with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as blocker:
            blocker.execute("BEGIN IMMEDIATE")
            two_clients.to_move.say("move", match=two_clients.match, ply=2, action=WON[2])
            two_clients.to_move.hear_until("notice", code="storage_down")
            yield server, two_clients


def ask(server: RunningServer, path: str) -> tuple[int, str]:
    """Status and body of the server's answer to an HTTP request."""
    assert server.page
    connection = http.client.HTTPConnection(*server.page, timeout=60)
    with contextlib.closing(connection):
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()


# The process dies.


def test_one_that_is_killed_is_followed_by_another_and_players_notice_a_wait(url: str) -> None:
    with running_server("--database", url) as server, dueling(server) as two_clients:
        for _ in WON:
            os.kill(the_process(server), signal.SIGKILL)
            for player in two_clients.players:
                player.hear_until("notice", code="storage_down")
            two_clients.play(1)
        two_clients.finish()
        for player in two_clients.players:
            assert notices(player) == ["storage_down", "storage_up"] * len(WON)
        code, log = server.stop()
    assert (code, log.count("error: ")) == (0, len(WON)), log
    match = stored_match(url, two_clients)
    assert (match.moves, match.winner, match.reason) == (moves(5), 1, "rules")


def test_a_takeback_is_announced_when_it_is_stored_and_outlives_the_server(url: str) -> None:
    with running_server("--database", url) as server, dueling(server) as two_clients:
        two_clients.play(3)
        first, second = two_clients.players
        offer = {"match": two_clients.match, "offer": "takeback", "ply": 3}
        assert first.ask("offer", **offer)["type"] == "offered"
        os.kill(the_process(server), signal.SIGKILL)
        second.say("answer_offer", accept=True, **offer)
        kinds = [first.hear_until(kind)["type"] for kind in ("notice", "taken_back")]
        assert kinds == ["notice", "taken_back"]
        assert notices(first)[0] == "storage_down"
        assert stored_match(url, two_clients).moves == moves(2)
        two_clients.move(first, 2, 8)
        server.process.kill()
        with running_server("--database", url) as another:
            again = stored_match(url, two_clients)
            assert again.moves == [*moves(2), MoveRow(2, 1, 8)]
            with RawClient(another.host, another.port) as watcher:
                watcher.hello()
                assert watcher.ask("watch", match=two_clients.match)["moves"] == [0, 3, 8]


def test_a_server_without_anything_to_store_works_again_too(url: str) -> None:
    with running_server("--database", url) as server, dueling(server) as two_clients:
        two_clients.play(1)
        os.kill(the_process(server), signal.SIGKILL)
        for player in two_clients.players:
            player.hear_until("notice", code="storage_up")


def test_an_operator_who_changes_an_account_meanwhile_is_noticed(url: str) -> None:
    with running_server("--database", url) as server, RawClient(server.host, server.port) as ada:
        assert ada.hello("Ada", guest=False)["type"] == "welcome"
        process = the_process(server)
        os.kill(process, signal.SIGSTOP)
        assert run("playout-server", "accounts", "revoke", "Ada", "--database", url)[0] == 0
        os.kill(process, signal.SIGKILL)
        assert ada.hear_until("error")["code"] == "kicked"


def test_waiting_records_are_stored_at_the_end(url: str) -> None:
    with running_server("--database", url) as server, dueling(server) as two_clients:
        two_clients.play(2)
        with RawClient(server.host, server.port) as witness:
            process = the_process(server)
            os.kill(process, signal.SIGSTOP)
            two_clients.to_move.say("move", match=two_clients.match, ply=2, action=WON[2])
            assert witness.is_alive()
        for _ in range(2):  # the second stops it at once
            server.process.send_signal(signal.SIGTERM)
        os.kill(process, signal.SIGKILL)
        assert server.finish()[0] == 0
    assert stored_match(url, two_clients).moves == moves(3)


# The process hangs, or loses its file.


def test_one_that_hangs_is_noticed_and_players_wait_until_it_works_again(url: str) -> None:
    soon = {"playout.server.storage.client.CHECK_S": 0.1}
    options = ("--database", url, "--http", "127.0.0.1:0")
    with running_server(*options, changed=soon) as server, dueling(server) as two_clients:
        two_clients.play(2)
        process = the_process(server)
        os.kill(process, signal.SIGSTOP)
        wait_until(lambda: ask(server, "/healthz")[0] == 503, "a bad state of health")
        assert ask(server, "/healthz")[1] == "the storage process does not answer\n"
        two_clients.to_move.say("move", match=two_clients.match, ply=2, action=WON[2])
        two_clients.to_move.hear_until("notice", code="storage_down")
        os.kill(process, signal.SIGCONT)
        for player in two_clients.players:
            player.hear_until("update", ply=2)
        two_clients.ply += 1
        wait_until(lambda: ask(server, "/healthz")[0] == 200, "a good state of health")
        two_clients.finish()
        assert server.stop()[0] == 0


def test_an_idle_one_that_hangs_is_noticed_too(url: str) -> None:
    soon = {"playout.server.storage.client.CHECK_S": 0.1}
    options = ("--database", url, "--http", "127.0.0.1:0")
    with running_server(*options, changed=soon) as server:
        process = the_process(server)
        for number, status in ((signal.SIGSTOP, 503), (signal.SIGCONT, 200)):
            os.kill(process, number)
            wait_until(lambda wanted=status: ask(server, "/healthz")[0] == wanted)


def test_no_move_is_announced_while_the_file_is_gone(url: str, tmp_path: Path) -> None:
    path, away = tmp_path / "playout.db", tmp_path / "away.db"
    options = ("--database", url, "--http", "127.0.0.1:0")
    with running_server(*options) as server, dueling(server) as two_clients:
        two_clients.play(2)
        path.rename(away)
        two_clients.to_move.say("move", match=two_clients.match, ply=2, action=WON[2])
        two_clients.to_move.hear_until("notice", code="storage_down")
        status, why = ask(server, "/healthz")
        assert (status, "playout.db is gone: put it back" in why) == (503, True)
        os.kill(process := the_process(server), signal.SIGKILL)
        wait_until(partial(is_gone, process))
        wait_until(partial(is_gone, the_process(server)))  # the next one makes no new file
        assert not [each for each in two_clients.waiting.heard if each.get("ply") == 2]
        assert not path.exists()
        away.rename(path)
        for player in two_clients.players:
            player.hear_until("update", ply=2)
        two_clients.ply += 1
        two_clients.finish()
        assert ask(server, "/healthz") == (200, "ok\n")
        assert server.stop()[0] == 0
    assert stored_match(url, two_clients).moves == moves(5)


def test_health_is_bad_while_the_file_of_an_idle_server_is_another_one(
    url: str, tmp_path: Path
) -> None:
    path, away = tmp_path / "playout.db", tmp_path / "away.db"
    with running_server("--database", url, "--http", "127.0.0.1:0") as server:
        path.rename(away)
        path.touch()
        wait_until(lambda: ask(server, "/healthz")[0] == 503, "a bad state of health")
        assert "was replaced by another one" in ask(server, "/healthz")[1]
        away.rename(path)
        wait_until(lambda: ask(server, "/healthz")[0] == 200, "a good state of health")


def test_health_is_bad_after_the_journal_of_an_idle_server_was_deleted(
    url: str, tmp_path: Path
) -> None:
    with running_server("--database", url, "--http", "127.0.0.1:0") as server:
        wait_until(lambda: ask(server, "/healthz")[0] == 200, "a good state of health")
        with dueling(server) as two_clients:
            two_clients.play(1)
            (tmp_path / "playout.db-wal").unlink()
            wait_until(lambda: ask(server, "/healthz")[0] == 503, "a bad state of health")
            assert "playout.db-wal" in ask(server, "/healthz")[1]
            server.process.kill()
        assert stored_match(url, two_clients).moves == moves(1)


def test_health_is_bad_until_the_database_can_be_written_for_the_first_time(
    url: str, tmp_path: Path
) -> None:
    Database(url).migrate()
    blocker = sqlite3.connect(tmp_path / "playout.db", isolation_level=None)
    with contextlib.closing(blocker):
        blocker.execute("BEGIN IMMEDIATE")
        options = ("--database", f"{url}?timeout=0.1", "--http", "127.0.0.1:0")
        with running_server(*options) as server:
            wait_until(lambda: ask(server, "/healthz")[0] == 503, "a bad state of health")
            assert "locked" in ask(server, "/healthz")[1]
            blocker.execute("ROLLBACK")
            wait_until(lambda: ask(server, "/healthz")[0] == 200, "a good state of health")


# The database refuses one record.

REFUSAL = {
    "sqlite": "CREATE TRIGGER rule BEFORE INSERT ON moves WHEN NEW.action = 1"
    " BEGIN SELECT RAISE(ABORT, 'no ones'); END",
    "postgresql": "ALTER TABLE moves ADD CONSTRAINT rule CHECK (action <> 1)",
}


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_record_that_cannot_be_stored_ends_its_match_and_no_other(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"{SQLITE}{tmp_path / 'playout.db'}"
    if kind == "postgresql":
        url = request.getfixturevalue("postgres").url
    options = ("--database", url, "--http", "127.0.0.1:0")
    with (
        running_server(*options) as server,
        dueling(server) as two_clients,
        dueling(server) as others,
    ):
        engine = sa.create_engine(url)
        with engine.begin() as connection:
            connection.execute(sa.text(REFUSAL[kind]))
        two_clients.play(2)
        others.play(2)
        two_clients.to_move.say("move", match=two_clients.match, ply=2, action=1)
        for player in two_clients.players:
            ended = player.hear_until("ended")
            assert (ended["winner"], ended["reason"]) == (0, "aborted")
            assert "could not store" in ended["text"]
            assert not [each for each in player.heard if each.get("ply") == 2]
            assert player.is_alive()
        others.move(others.to_move, 2, 2)
        engine.dispose()
        assert ask(server, "/healthz") == (200, "ok\n")
        assert "playout_records_rejected_total 1.0" in ask(server, "/metrics")[1]
        code, log = server.stop()
    assert code == 0
    assert f"cannot store a MovePlayed of {two_clients.match}, which ends: " in log
    assert "Traceback" not in log
    assert log.count("error: ") == 1, log
    match = stored_match(url, two_clients)
    assert (match.moves, match.reason) == (moves(2), "aborted")
    assert len(stored_match(url, others).moves) == 3
    with running_server("--database", url, "--restart-grace-s", "60") as again:
        assert "cannot store" not in again.stop()[1]


# The server dies, or is stopped.


def test_a_server_that_is_killed_leaves_nothing_behind_and_is_followed_at_once(url: str) -> None:
    with running_server("--database", url) as server, dueling(server) as two_clients:
        two_clients.play(2)
        process = the_process(server)
        server.process.kill()
        with running_server("--database", url, "--restart-grace-s", "60") as another:
            wait_until(partial(is_gone, process))
            with RawClient(another.host, another.port) as first:
                listed = first.hello("watcher") and first.ask("list")["matches"]
            assert [(each["match"], each["ply"]) for each in listed] == [(two_clients.match, 2)]


def test_the_next_server_waits_until_the_process_of_the_last_has_let_go(url: str) -> None:
    with outage(url) as (server, two_clients):
        process = the_process(server)
        server.process.kill()
        assert not is_gone(process), "it still tries to store a move"
        with running_server("--database", url) as another:
            assert is_gone(process)
            assert another.stop()[0] == 0
    assert len(stored_match(url, two_clients).moves) >= 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_all_processes_stops_them_in_order(url: str, number: signal.Signals) -> None:
    """The server waits for the match with a clock, and not for the one with days for a move."""
    with (
        running_server("--database", url, "--grace-s", "86400") as server,
        dueling(server, "600+5") as two_clients,
        dueling(server, "259200+0", guests=False) as by_correspondence,
    ):
        two_clients.play(2)
        by_correspondence.play(1)
        process = the_process(server)
        for each in (process, server.process.pid):
            os.kill(each, number)
        for player in (*two_clients.players, *by_correspondence.players):
            player.hear_until("closing")
        by_correspondence.play(1)
        two_clients.play(3)
        code, log = server.finish()
        assert is_gone(process)
    assert (code, "error" in log) == (0, False), log
    ended, running = (stored_match(url, each) for each in (two_clients, by_correspondence))
    assert (ended.moves, ended.reason) == (moves(5), "rules")
    assert (running.moves, running.reason) == (moves(2), None)


def test_signals_of_a_terminal_reach_the_server_only(url: str) -> None:
    with running_server("--database", url) as server:
        process = the_process(server)
        assert os.getpgid(process) == process != os.getpgid(server.process.pid)


def test_a_server_that_is_stopped_during_an_outage_says_what_is_lost(url: str) -> None:
    with outage(url, changed={"playout.server.app._PATIENCE_S": 1.0}) as (server, two_clients):
        code, log = server.stop()
    assert code == 1
    assert "moves that were not announced yet are lost" in log
    assert stored_match(url, two_clients).moves == moves(2)


# The database cannot be used.


def test_a_second_server_is_told_that_there_is_one_and_changes_nothing(url: str) -> None:
    with running_server("--database", url):
        with sqlite3.connect(url.removeprefix(SQLITE)) as connection:  # as one of another version
            connection.execute("UPDATE alembic_version SET version_num = '9999'")
        code, said = run("playout-server", "--port=0", "--http=none", "--database", url)
    assert code == 1
    assert said.splitlines()[-1].startswith("playout-server: another server uses the database")


def test_one_that_is_killed_while_the_database_is_away_is_followed_when_it_is_back(
    postgres: Postgres,
) -> None:
    with running_server("--database", postgres.url) as server, dueling(server) as two_clients:
        two_clients.play(2)
        postgres.stop()
        process = the_process(server)
        two_clients.to_move.say("move", match=two_clients.match, ply=2, action=WON[2])
        two_clients.to_move.hear_until("notice", code="storage_down")
        for _ in range(3):
            with contextlib.suppress(ProcessLookupError):  # those that follow may end by themselves
                os.kill(process, signal.SIGKILL)
            wait_until(partial(is_gone, process))
            process = the_process(server)
        postgres.start()
        for player in two_clients.players:
            player.hear_until("update", ply=2)
        two_clients.ply += 1
        two_clients.finish()
        code, log = server.stop()
    assert code == 0
    assert stored_match(postgres.url, two_clients).moves == moves(5)
    faults = re.findall(r"error: the database fails: (.*)|the database works", log)
    # The outage, and for each kill the exit and what the next finds; each is said once.
    assert len(faults) >= 2, log
    assert all(one != other for one, other in pairwise(faults)), log


def test_a_server_does_not_start_without_its_database(postgres: Postgres) -> None:
    postgres.stop()
    code, said = run("playout-server", "--port=0", "--http=none", "--database", postgres.url)
    assert code == 1
    assert said.splitlines()[-1].startswith("playout-server: cannot use the database")
    assert "Traceback" not in said
