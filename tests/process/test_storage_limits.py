"""A server whose database is full, and one that removes old analyses."""

from __future__ import annotations

import socket
import sqlite3
import subprocess
import time
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import structs

from playout.commands.subprocesses import own
from playout.protocol.messages import Analysis
from playout.server.model.records import (
    MatchEnded,
    MovePlayed,
    stored_analysis,
)
from playout.server.storage import Database
from support.commands import RunningServer, running_server
from support.match_records import match_records
from support.raw_client import Message, RawClient
from support.two_clients import WON, TwoClients
from support.waiting import wait_until

DAY_S = 86400.0


def fetched(server: RunningServer, path: str) -> str:
    assert server.page
    host, port = server.page
    with urllib.request.urlopen(f"http://{host}:{port}/{path}", timeout=60) as page:
        text: str = page.read().decode()
    return text


def test_a_full_database_is_reported_and_matches_go_on(tmp_path: Path) -> None:
    new = tmp_path / "new.db"
    database = Database(f"sqlite:///{new}")
    database.migrate()
    database.close()
    limit = f"{new.stat().st_size / 890_000:.3g}"  # a new database is not reported yet
    with (
        running_server("--http", "127.0.0.1:0", "--database-mb", limit) as server,
        RawClient(server.host, server.port) as first,
        RawClient(server.host, server.port) as second,
    ):
        match = TwoClients(first, second)
        assert fetched(server, "healthz") == "ok\n"
        for _ in range(2):
            move(match, LARGE)
        wait_until(lambda: "warning:" in fetched(server, "healthz"), "the warning")
        assert fetched(server, "healthz").startswith(
            f"ok\nwarning: the database has 0 of {limit} MB"
        )
        assert match.to_move.ask("seek", game="tic_tac_toe")["code"] == "too_many"
        mover = match.to_move
        move(match, LARGE)
        assert f"limit of {limit} MB" in dropped(mover)
        match.finish()
        metrics = fetched(server, "metrics")
        assert "playout_analyses_dropped_total 1.0" in metrics
        assert "playout_database_bytes 0.0" not in metrics


#: Analysis of 17 KB.
LARGE = {"actions": [[2**30 + each, 2**50 + each, 0.123456789] for each in range(400)]}


def move(match: TwoClients, info: Message) -> None:
    """Play the next move with analysis."""
    ply = match.ply
    match.to_move.say("move", match=match.match, ply=ply, action=WON[ply], info=info)
    for player in match.players:
        player.hear_until("update", ply=ply)
    match.ply += 1


def dropped(player: RawClient) -> str:
    """The text of the notice that analysis is dropped."""
    (text,) = (each["text"] for each in player.heard if each.get("code") == "analysis_dropped")
    return str(text)


def test_analyses_of_old_matches_are_removed(tmp_path: Path) -> None:
    file = tmp_path / "playout.db"
    database, info, now = (
        Database(f"sqlite:///{file}"),
        stored_analysis(Analysis(win_rate=0.5)),
        time.time(),
    )
    database.migrate()
    for number, ended_at in ((1, now - 31 * DAY_S), (2, now - 29 * DAY_S)):
        records = match_records(number, "ann", "bob")
        for record in records:
            if isinstance(record, MovePlayed):
                database.save([structs.replace(record, info=info)])
            elif isinstance(record, MatchEnded):
                database.save([structs.replace(record, at=ended_at)])
            else:
                database.save([record])
    database.close()

    def analysed() -> dict[str, int]:
        with closing(sqlite3.connect(file)) as connection:
            query = "SELECT match, COUNT(info) FROM moves GROUP BY match"
            return dict(connection.execute(query).fetchall())

    assert analysed() == {"m001": 3, "m002": 3}
    with running_server("--database", f"sqlite:///{file}", "--keep-analysis", "30d"):
        wait_until(lambda: analysed() == {"m001": 0, "m002": 3}, "the removal")


@pytest.mark.parametrize("sent", [b"", b"\0\0\0\x10ab"])
def test_storage_whose_server_is_killed_before_its_order_ends_without_a_word(sent: bytes) -> None:
    server, its = socket.socketpair()
    server.sendall(sent)
    server.close()
    with its:
        command = own("playout.server.storage.storage_process:main")
        ended = subprocess.run(command, stdin=its, capture_output=True, check=False)
    assert (ended.returncode, b"Traceback" in ended.stderr) == (0, False)
