"""The queue of tests: whose turn it is, what is kept, and what its addresses answer."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from msgspec import structs
from twisted.internet.defer import Deferred

from playout.bots.uploads import UploadRequest
from playout.laboratory import queue as lab_queue
from playout.laboratory import queue_site
from playout.laboratory.journal import VersionTest
from playout.laboratory.queue import (
    LabQueue,
    QueuedTest,
    QueueFileError,
    QueueInUse,
    TrialResult,
    conditions_of,
    shares,
)
from playout.laboratory.queue_site import QueueSite
from playout.laboratory.queued_test import (
    TrialOrders,
    TrialStopped,
    _Run,
    require_visible,
    too_many_faults,
)
from playout.laboratory.trial import verdict
from playout.protocol.messages import Fixture, Reason
from playout.protocol.tournament_spec import Entrant, TournamentSpec
from playout.server.model.records import Account
from playout.server.organizer.spec_file import SpecFileError
from playout.server.tournament.ledger import Ledger
from playout.server.web.http import HttpResponse
from support.repositories import LAB


@pytest.mark.parametrize(
    ("cores", "used", "expected"),
    [
        (4, {}, {}),
        (4, {"ada": 9.0}, {"ada": 4}),
        (4, {"ada": 9.0, "bob": 0.0}, {"ada": 2, "bob": 2}),
        (3, {"ada": 9.0, "bob": 0.0}, {"ada": 1, "bob": 2}),
        (2, {"ada": 9.0, "bob": 0.0, "cyd": 3.0}, {"ada": 0, "bob": 1, "cyd": 1}),
        (1, {"ada": 1.0, "bob": 1.0}, {"ada": 1, "bob": 0}),
    ],
)
def test_cores_are_shared_by_author(
    cores: int, used: dict[str, float], expected: dict[str, int]
) -> None:
    assert shares(cores, used) == expected


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lab.toml"
    path.write_text(f'{LAB}[queue]\nunfinished = 2\nauthors = ["Ada", "Bob", "Root"]\n')
    return path


@pytest.fixture
def queue(file: Path) -> Iterator[LabQueue]:
    with contextlib.closing(LabQueue(file.with_suffix(""))) as found:
        yield found


def added(queue: LabQueue, author: str = "Ada", **more: Any) -> QueuedTest:
    upload = queue.incoming / "upload"
    upload.write_bytes(b"x")
    fields = {"account": author.lower(), "author": author, "file": "a.zip", "base": "base"}
    return queue.add(upload, **{**fields, "given": {}, **more})


def test_an_author_stays_one_under_another_name_and_nobody_takes_the_name(queue: LabQueue) -> None:
    def is_author(identity: str, name: str) -> bool:
        account = Account(id=identity, name=name, digest="", created_at=0.0)
        return queue.is_author(account, ("Ada", "Bob"))

    assert is_author("ada", "ada")
    assert not is_author("ada", "Augusta"), "it has handed nothing in"
    added(queue)
    assert is_author("ada", "Augusta")
    assert not is_author("eve", "Ada")
    assert is_author("bob", "Bob")
    assert not is_author("eve", "Eve")


def test_matches_of_tests_that_ended_long_ago_are_removed(queue: LabQueue) -> None:
    result = TrialResult(trial=1)
    for author, state in (("Ada", "stronger"), ("Bob", "running"), ("Cyd", "stronger")):
        test = queue.put(added(queue, author), "running", result=result)
        if state == "stronger":
            queue.put(test, "stronger")
        place = queue.home(test) / "tests" / "000001"
        (place / "matches.logs").mkdir(parents=True)
        for name in ("matches.db", "matches.db-wal"):
            (place / name).touch()
    queue.remove_matches(3600.0, ())
    assert len(list(queue.folder.glob("authors/*/tests/*/matches.db"))) == 3
    queue.remove_matches(-1.0, ("cyd",))
    kept = {each.parts[-4] for each in queue.folder.glob("authors/*/tests/*/matches.db")}
    assert kept == {"bob", "cyd"}
    assert [each.name for each in (queue.folder / "authors/ada/tests/000001").iterdir()] == [
        "removed"
    ]


def test_a_test_without_its_matches_has_the_verdict_of_before() -> None:
    told: list[Any] = []
    parent: Any = SimpleNamespace(say=told.append)
    orders = TrialOrders("lab.toml", "test", "home", "upload", "base", {}, 1, 1)
    names = ("old", "new")
    trial = VersionTest(3, "a", ("b",), names, ("", ""), "", 2, 0.0, state="not stronger", pairs=50)
    run = _Run(orders, parent)
    run._tell_again(trial)
    (news,) = told
    assert (news.state, news.result.pairs, news.result.tried) == ("not stronger", 50, 2)
    text = "not stronger in an earlier test, whose matches were removed"
    assert news.result.verdict == text
    with pytest.raises(TrialStopped, match="before its verdict: hand in a changed version"):
        run._tell_again(structs.replace(trial, state="open"))


def test_an_author_plays_the_highest_priority_and_then_the_oldest_test_first(
    queue: LabQueue,
) -> None:
    first, _, urgent = added(queue), added(queue), added(queue, priority=3)
    other = added(queue, "Bob")
    assert queue.first_of_authors() == {"ada": urgent, "bob": other}
    queue.put(urgent, "stronger")
    assert queue.first_of_authors()["ada"] == first
    assert (queue.unfinished("ada"), queue.of_day("ada")) == (2, 3)


def test_tests_from_before_the_clock_was_set_back_are_not_of_the_day(
    queue: LabQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = added(queue).at - 3600
    monkeypatch.setattr(lab_queue, "time", SimpleNamespace(time=lambda: earlier))
    assert queue.of_day("ada") == 0
    added(queue)
    assert queue.of_day("ada") == 1


def test_a_killed_queue_goes_on_with_interrupted_tests(queue: LabQueue) -> None:
    waits, runs, ended = (added(queue) for _ in range(3))
    queue.put(queue.put(runs, "building"), "running", result=TrialResult(trial=7, pairs=3))
    (queue.place(ended) / "code").mkdir()
    ended = queue.put(ended, "stopped", reason="by Ada")
    with pytest.raises(QueueInUse, match="another server runs the queue"):
        LabQueue(queue.folder)
    queue.close()
    with contextlib.closing(LabQueue(queue.folder)) as again:
        found = [again.get(each.id) for each in (waits, runs, ended)]
    assert [each and each.state for each in found] == ["waiting", "waiting", "stopped"]
    assert found[1]
    assert found[1].result == TrialResult(trial=7, pairs=3)
    assert [state for _, state in found[1].history] == ["waiting", "building", "running"]
    assert {each.name for each in queue.place(ended).iterdir()} == {"test.json"}
    assert {each.name for each in queue.place(waits).iterdir()} == {"test.json", "upload"}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"games": ["nim"]}, "^games: nim is not played here, but tic_tac_toe"),
        ({"games": ["os:system"]}, "^games: os:system is code"),
        ({"pairs": 201}, "^pairs: a test has at most 200 here"),
        ({"elo1": float("nan")}, "^elo1: must be a number from 1 to 1000"),
        ({"clock": "none"}, "^clock: it must limit the time of a match"),
    ],
)
def test_a_test_chooses_its_conditions_within_those_of_the_file(
    file: Path, given: dict[str, Any], text: str
) -> None:
    assert conditions_of(file, {"elo1": 50.0, "pairs": 20}).pairs == 20
    with pytest.raises(SpecFileError, match=text):
        conditions_of(file, given)
    file.write_text("games = 3")  # by its operator
    with pytest.raises(QueueFileError, match=f"^{file}:1: games: "):
        conditions_of(file, given)


def test_a_version_that_often_crashes_or_loses_on_time_stops_a_test() -> None:
    entrants = (Entrant("old", "1", command="old"), Entrant("new", "2", command="new"))
    spec = TournamentSpec("race", ("nim",), "race", entrants)
    ledger = Ledger("t", spec)
    reasons = [*[Reason.RULES] * 36, *[Reason.TIME] * 4, *[Reason.CRASH] * 4]

    def play(reason: Reason) -> None:
        number = len(ledger.fixtures)
        ledger.fixtures[f"{number}"] = Fixture(
            tournament="t", match=f"{number}", game="nim", round=1, board=1,
            number=1, leg=1, players=("new", "old"),
            winner=2, reason=reason,
        )  # fmt: skip

    for each in reasons:
        play(each)
    assert too_many_faults(ledger, 0.1) == ""
    play(Reason.ABANDONMENT)
    assert too_many_faults(ledger, 0.1) == (
        "new has lost 5 of its 45 matches by crashes or illegal moves"
    )
    assert too_many_faults(ledger, 0.2) == ""


def test_losses_on_time_stop_a_test_with_its_clock_and_the_load() -> None:
    entrants = (Entrant("old", "1", command="old"), Entrant("new", "2", command="new"))
    ledger = Ledger("t", TournamentSpec("race", ("nim",), "race", entrants))
    for number in range(5):
        ledger.fixtures[f"{number}"] = Fixture(
            tournament="t", match=f"{number}", game="nim", round=1, board=1, number=1, leg=1,
            players=("new", "old"), winner=2, reason=Reason.TIME,
        )  # fmt: skip
    assert re.fullmatch(
        r"new has lost 5 of its 5 matches on time; its clock is 0.1/move, "
        r"and the load of this machine is [\d.]+ on \d+ cores?",
        too_many_faults(ledger, 0.1),
    )


def test_an_undecided_verdict_says_how_it_goes_on() -> None:
    names = ("old", "new")
    entrants = tuple(Entrant(each, "1", command=each) for each in names)
    ledger = Ledger("t", TournamentSpec("race", ("pig",), "race", entrants))
    trial = VersionTest(1, "a", ("b",), names, ("", ""), "", 0, 0.0, state="undecided")
    assert verdict(trial, ledger).endswith(": a larger --pairs continues it")
    ledger.over = True  # its luck cannot be measured
    assert verdict(trial, ledger).endswith(": use other conditions")
    ledger.withdraw(1)
    assert verdict(trial, ledger).endswith(": new crashed again and again")


@pytest.mark.parametrize("name", ["\u3164", "new\u202e", "n\u00adew", "\u2800"])
def test_the_folders_of_an_archive_have_visible_names(name: str) -> None:
    require_visible(["base", "HEAD~1", "Zo\u00eb  2"])
    with pytest.raises(TrialStopped, match=r"the folder '.*: a version has only visible"):
        require_visible(["base", name])


# The addresses.

Ask = Callable[..., tuple[int, Any]]


@pytest.fixture
def ask(queue: LabQueue, file: Path) -> Ask:
    site = QueueSite(queue, file, conditions_of(file, {}), lambda: {1: 2}, "")

    def asked(method: str, path: str, name: str = "", **query: str) -> tuple[int, Any]:
        account = Account(
            id=name.lower(), name=name, digest="", created_at=0.0, administrator=name == "Root"
        )
        request = UploadRequest(
            tuple(path.split("/")), query, method=method, account=account if name else None
        )
        answer = site(request)
        if isinstance(answer, Deferred):
            raise NotImplementedError
        assert isinstance(answer, HttpResponse)
        is_json = answer.media_type == "application/json"
        return answer.status, msgspec.json.decode(answer.body) if is_json else answer.body.decode()

    return asked


def test_the_page_has_the_ended_tests_of_every_author(
    queue: LabQueue, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_site, "_LAST_TESTS", 3)
    for author in ("Bob", *["Ada"] * 5):
        queue.put(added(queue, author), "stopped", reason="")
    status, page = ask("GET", "")
    assert (status, ">Bob<" in page, page.count(">Ada<")) == (200, True, 2), page


def test_only_the_author_and_administrators_stop_a_test_and_read_its_log(
    queue: LabQueue, ask: Ask
) -> None:
    added(queue)
    for action in ("stop", "priority/5"):
        assert ask("PUT", f"api/tests/1/{action}")[0] == 401
        assert ask("PUT", f"api/tests/1/{action}", "Bob") == (
            403,
            {"error": "test 1 is not yours but Ada's"},
        )
    assert ask("GET", "api/tests/1/log", "Bob")[0] == 403
    assert ask("GET", "api/tests/1/log", "Ada") == (200, {"log": "", "builds": {}, "outputs": {}})
    assert ask("PUT", "api/tests/1/priority/5", "Ada")[1]["priority"] == 5
    assert ask("PUT", "api/tests/1/priority/10", "Ada")[0] == 400
    status, told = ask("PUT", "api/tests/1/stop", "Root")
    assert (status, told["state"], told["reason"]) == (200, "stopped", "by Root")
    assert ask("PUT", "api/tests/1/stop", "Ada")[0] == 409


def test_the_tests_of_an_author_are_limited(queue: LabQueue, ask: Ask) -> None:
    assert ask("PUT", "api/tests/a.zip", "Eve")[0] == 403
    assert ask("PUT", "api/tests/a.zip", "Ada") == (400, {"error": "the file is empty"})
    added(queue), added(queue)
    status, told = ask("PUT", "api/tests/a.zip", "Ada")
    assert (status, "2 tests that have not ended" in told["error"]) == (429, True)
    assert ask("PUT", "api/tests/a.zip", "Bob")[0] == 400


def test_tests_are_listed_and_told(queue: LabQueue, ask: Ask) -> None:
    added(queue), added(queue, "Bob")
    queue.put(added(queue), "undecided")
    added(queue, priority=9)  # it gets the cores of test 1 when the turn of that is over
    status, page = ask("GET", "api/tests", state="unfinished")
    assert (status, [each["test"] for each in page["items"]]) == (200, [4, 2, 1])
    assert [each["cores"] for each in page["items"]] == [0, 0, 2]
    assert ask("GET", "api/tests", author="bob")[1]["total"] == 1
    assert ask("GET", "api/tests", limit="1")[0] == 400
    assert ask("GET", "api/tests/5")[0] == 404
    assert ask("GET", "api/tests/3/summary")[1] == "**test 3: undecided**\n\n"
    authors = ask("GET", "api/queue")[1]["authors"]
    assert authors == [
        {"author": "Ada", "tests": 2, "cores": 2},
        {"author": "Bob", "tests": 1, "cores": 0},
    ]


def test_the_page_escapes_the_texts_of_authors(queue: LabQueue, ask: Ask) -> None:
    evil = "<img src=x onerror=alert(1)>"
    result = TrialResult(versions=(evil, "new 1234567"))
    queue.put(added(queue), "stopped", reason=evil, result=result)
    for part in ("page", "tests"):
        status, text = ask("GET", "", part=part)
        assert (status, evil in text, "&lt;img" in text) == (200, False, True)
