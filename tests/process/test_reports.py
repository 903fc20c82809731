"""`playout-tournament push`, and hostile reports of matches to a real server."""

from __future__ import annotations

import base64
import os
import urllib.parse
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from playout.server.model.records import StoredTournament
from playout.server.storage import Database
from playout.server.tournament.reported import lines_of, packed, whole_of
from support.commands import RunningServer, run, running_server
from support.http_site import HttpSite
from support.organizer import database_option
from support.raw_client import RawClient
from support.reports import GAME, ID, START, changed, tournament
from support.waiting import wait_until


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("local")
    with closing(Database(f"sqlite:///{folder}/t.db")) as database:
        database.migrate()
        database.save(tournament())
    return folder


@pytest.fixture(scope="module")
def stored(folder: Path) -> StoredTournament:
    with closing(Database(f"sqlite:///{folder}/t.db")) as database:
        found = database.tournament(ID)
    assert found
    return found


@pytest.fixture(scope="module")
def host() -> Iterator[RunningServer]:
    with running_server("--http", "127.0.0.1:0") as server:
        yield server
        code, log = server.stop()
    assert code == 0, log
    assert "Traceback" not in log, log


class ReportingAccount:
    """A registered account that reports matches over a socket."""

    def __init__(self, server: RunningServer, name: str) -> None:
        self.client = RawClient(server.host, server.port)
        self.token = self.client.hello(name, guest=False)["token"]

    def report(self, **fields: Any) -> dict[str, Any]:
        return self.client.ask("report_matches", **{"tournament": ID, "at": START} | fields)

    def fault(self, **fields: Any) -> str:
        """The text of the refusal."""
        answer = self.report(**fields)
        assert answer["type"] == "error", answer
        assert answer["code"] == "bad_tournament"
        return str(answer["text"])


@pytest.fixture
def reporter(host: RunningServer, request: pytest.FixtureRequest) -> Iterator[ReportingAccount]:
    found = ReportingAccount(host, f"r{abs(hash(request.node.name)) % 10**9}")
    yield found
    found.client.socket.close()


def test_a_tournament_is_pushed_once_and_rated_apart(
    host: RunningServer, folder: Path, stored: StoredTournament
) -> None:
    account = ReportingAccount(host, "Eve")
    environment = os.environ | {"PLAYOUT_TOKEN": account.token}
    where = ("--server", f"{host.host}:{host.port}", "--name", "Eve", *database_option(folder))

    def push() -> str:
        code, told = run("playout-tournament", "push", *where, env=environment)
        assert code == 0, told
        return told

    first = push()
    assert "is reported, 12 matches sent now" in first
    here = first.split(" it is ")[1].split(" on ")[0]
    site = HttpSite(host, None)  # type: ignore[arg-type]
    reported = f"players?game={GAME}&reporter=Eve"
    ranking = wait_until(lambda: (r := site.get(reported))["items"] and r, "a rating")
    assert {each["name"] for each in ranking["items"]} == {"Ann", "Bob", "Cem"}
    report = site.get(f"tournaments/{here}")
    assert report["reporter"] == "Eve"
    assert report["report"]["done"] == 6
    assert site.get(f"players?game={GAME}")["items"] == []
    rows = site.get(f"matches?tournament={here}")["items"]
    assert {(each["reported"], each["rated"], *each["linked"]) for each in rows} == {
        (True, False, False, False)
    }
    assert "reported before" in push()
    assert site.get(reported)["matches"] == ranking["matches"]
    assert site.get("matches")["total"] == 12
    for path in (f"/tournaments/{here}", "/tournaments", "/" + reported, "/matches"):
        page = site.ask(urllib.parse.quote(path, safe="/?=&"))
        assert page.status == 200
        assert ("eported by Eve" in page.body.decode()) == (path != "/matches")
    account.client.socket.close()


def test_a_report_that_was_cut_off_continues(
    reporter: ReportingAccount, stored: StoredTournament
) -> None:
    lines = list(lines_of(stored))
    assert reporter.report()["matches"] == 0
    assert reporter.report(matches=packed(b"".join(lines[:5])))["matches"] == 5
    assert "expected match number 5" in reporter.fault(matches=packed(b"".join(lines[:5])))
    answer = reporter.report(first=5, matches=packed(b"".join(lines[5:])))
    assert (answer["matches"], answer["over"]) == (12, False)
    assert reporter.report(first=12, whole=packed(whole_of(stored)))["over"]
    again = reporter.report(first=12, whole=packed(whole_of(stored)))
    assert (again["matches"], again["over"]) == (12, True)


def test_forged_matches_are_refused(reporter: ReportingAccount, stored: StoredTournament) -> None:
    lines = list(lines_of(stored))[:2]

    def fault(change: Callable[[Any], None]) -> str:
        return reporter.fault(matches=changed(lines, change))

    assert "winner" in fault(
        lambda each: each["finished"].update(winner=-each["finished"]["winner"])
    )
    assert "action" in fault(
        lambda each: each["moves"][1].update(action=each["moves"][0]["action"])
    )
    assert "reason" in fault(lambda each: each["moves"].pop())
    assert "expected a match of" in fault(lambda each: each.update(tournament="another"))
    assert "fixture" in fault(lambda each: each.update(fixture="none"))
    assert "in the future" in fault(lambda each: each["finished"].update(at=9e9))
    assert "not ended" in fault(lambda each: each.update(finished=None))
    assert "unknown" in fault(lambda each: each.update(reporter="Ann"))
    assert "U+0000" in fault(lambda each: each["finished"].update(text="a\0b"))
    assert reporter.report()["matches"] == 0


def test_a_text_may_show_the_escape_of_a_zero(
    reporter: ReportingAccount, stored: StoredTournament
) -> None:
    lines = list(lines_of(stored))[:1]
    shown = changed(lines, lambda each: each["finished"].update(text=r"a\u0000"))
    assert reporter.report(matches=shown)["matches"] == 1


def test_a_tournament_with_other_pairs_is_refused_and_counts_nothing(
    host: RunningServer, reporter: ReportingAccount, stored: StoredTournament
) -> None:
    lines = list(lines_of(stored))
    swapped = changed(lines, lambda each: each.update(players=["Ann", "Master"]))
    assert reporter.report(matches=swapped)["matches"] == 12
    assert "not between the players" in reporter.fault(first=12, whole=packed(whole_of(stored)))
    twice = msgspec.json.decode(whole_of(stored))
    for key, value in (("rounds", 10**9), ("games", ["chess"] * 5000), ("entrants", [])):
        spoilt = twice | {"spec": twice["spec"] | {key: value}}
        assert reporter.fault(first=12, whole=packed(msgspec.json.encode(spoilt)))
    site = HttpSite(host, None)  # type: ignore[arg-type]
    assert site.refused(f"tournaments/{reporter.report()['tournament']}")[0] == 404


def test_reports_that_cannot_be_read_are_refused(reporter: ReportingAccount) -> None:
    bomb = base64.b64encode(zlib.compress(b" " * 10**7, 9)).decode()
    assert "bytes" in reporter.fault(matches=bomb)
    assert "Base64" in reporter.fault(matches="%%%")
    assert "Base64" in reporter.fault(matches="AAAA")
    assert "expected 1 to" in reporter.fault(matches=packed(b""))
    assert "expected 1 to" in reporter.fault(matches=packed(b"{}\n" * 101))
    assert "match line 1" in reporter.fault(matches=packed(b"\xff\x00"))
    assert "cannot be read" in reporter.fault(whole=packed(b"[" * 9000))
    assert "future" in reporter.fault(at=9e9)
    assert reporter.client.is_alive()


def test_guests_report_nothing_and_no_token_is_an_error(
    host: RunningServer, folder: Path, stored: StoredTournament
) -> None:
    with RawClient(host.host, host.port) as guest:
        guest.hello()
        answer = guest.ask("report_matches", tournament=ID, at=START)
        assert answer["code"] == "not_for_guests"
    where = ("--server", f"{host.host}:{host.port}", "--name", "Mallory", *database_option(folder))
    environment = os.environ | {"PLAYOUT_TOKEN": "forged"}
    code, told = run("playout-tournament", "push", *where, env=environment)
    assert code == 1
    assert "does not let Mallory in" in told


def test_one_account_sends_one_report_at_a_time(
    reporter: ReportingAccount, stored: StoredTournament
) -> None:
    lines = packed(b"".join(lines_of(stored)))
    for number in (901, 902):
        reporter.client.say("report_matches", id=number, tournament=ID, at=START, matches=lines)
    answers = {reporter.client.hear()["type"] for _ in range(2)}
    assert answers == {"error", "matches_reported"}
    assert reporter.report()["matches"] == 12
