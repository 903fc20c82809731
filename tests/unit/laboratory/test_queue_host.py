"""Whose turn it is in the queue of tests, over hours of a simulated clock."""

from __future__ import annotations

import contextlib
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playout.laboratory import queue_host
from playout.laboratory.lab_file import QueueTerms
from playout.laboratory.queue import LabQueue, QueuedTest, TrialResult
from playout.laboratory.queue_host import QueueHost, _Run
from playout.laboratory.queued_test import TrialNews
from support.repositories import LAB

STEP_S, TURN_S, HOURS = 5.0, 120.0, 4
#: Seconds until a process has its first result.
START_S = 5.0


class Waiting(dict[int, QueuedTest]):
    """Tests that go on for ever, by number."""

    folder = Path("/")

    def first_of_authors(self) -> dict[str, QueuedTest]:
        found: dict[str, QueuedTest] = {}
        for each in self.values():
            found.setdefault(each.account, each)
        return found


class SimulatedHost(QueueHost):
    """Starts no processes; an interrupted test ends with the next step."""

    def __init__(self, cores: int, tests: list[QueuedTest]) -> None:
        untyped: Any = self
        untyped.queue = Waiting({each.id: each for each in tests})
        self._cores = list(range(cores))
        self._runs, self._used, self._failures = {}, {}, {}
        self._fruitless = Counter()
        self._terms = QueueTerms(turn_s=TURN_S)
        self._looked_at = self._remove_at = self.now = 0.0
        self.total: Counter[str] = Counter()

    def step(self) -> None:
        self.now += STEP_S
        for account, run in list(self._runs.items()):
            self.total[account] += len(run.cores)
            if run.ends_at < self.now + queue_host._END_S:
                del self._runs[account]
        self._look()

    def _begin(self, account: str, test: QueuedTest, cores: list[int], now: float) -> None:
        assert not {each for run in self._runs.values() for each in run.cores} & set(cores)
        child: Any = types.SimpleNamespace(send=lambda number: None)
        self._runs[account] = _Run(test.id, child, cores, over_at=now + START_S + TURN_S)


@pytest.mark.parametrize(
    ("cores", "tests"),
    [(2, (1, 30)), (2, (1, 3, 30)), (3, (30, 1)), (8, (1, 3, 30)), (2, (1,) * 5)],
)
def test_authors_have_equal_shares_however_many_tests_they_have(
    cores: int, tests: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = [
        QueuedTest(100 * author + number, f"{author}", "", "", "", {}, 0.0)
        for author, count in enumerate(tests)
        for number in range(count)
    ]
    host = SimulatedHost(cores, waiting)
    clock = types.SimpleNamespace(monotonic=lambda: host.now)
    monkeypatch.setattr(queue_host, "time", clock)
    for _ in range(int(HOURS * 3600 / STEP_S)):
        host.step()
    total = sum(host.total.values())
    assert total > 0.95 * cores * HOURS * 3600 / STEP_S
    for used in host.total.values():
        assert used / total == pytest.approx(1 / len(tests), rel=0.04)


def test_turns_without_a_result_grow_until_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    host = SimulatedHost(1, [QueuedTest(1, "ada", "", "", "", {}, 0.0)])
    monkeypatch.setattr(queue_host, "time", types.SimpleNamespace(monotonic=lambda: 0.0))
    untyped: Any = host.queue
    untyped.put = lambda *_, **__: None
    interrupted: Any = types.SimpleNamespace(code=130)

    def turn(*, played: bool) -> float:
        """Have a turn, and return how many times as long as a usual one it lasts."""
        run = host._runs["ada"] = _Run(1, interrupted, [0], ends_at=0.0)
        host._told(run, TrialNews("running", TrialResult(), played=played))
        host._exited("ada")
        return run.over_at / TURN_S

    assert [turn(played=False) for _ in range(3)] == [10, 20, 40]
    assert turn(played=True) == 1
    assert turn(played=False) == 10


def test_faults_of_the_disk_and_of_the_file_of_the_queue_stop_no_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = QueuedTest(1, "ada", "", "", "", {}, 0.0)
    host = SimulatedHost(1, [test])
    host.queue.folder = tmp_path / "missing"
    monkeypatch.setattr(queue_host, "time", types.SimpleNamespace(monotonic=lambda: host.now))
    host.step()
    assert not host.turns()
    host.queue.folder = tmp_path
    host.step()
    assert host.turns() == {1: 1}
    host._terms = QueueTerms(turn_s=TURN_S, keep_days=1)
    untyped: Any = host.queue
    untyped.remove_matches = lambda *_: (tmp_path / "missing" / "removed").touch()
    host.step()
    assert host.turns() == {1: 1}
    host._file = tmp_path / "lab.toml"
    host._file.write_text("games = 3")
    for _ in range(5):
        host._failed(test, host.now)
    assert host._failures == {1: (0, host.now + 30.0)}
    host._file.write_text(LAB)
    host._failed(test, host.now)
    assert host._failures == {1: (1, host.now + 2.0)}


def ended(queue: LabQueue) -> QueuedTest:
    """Hand a test in, and stop it."""
    upload = queue.incoming / "upload"
    upload.touch()
    test = queue.add(upload, account="ada", author="Ada", file="a.zip", base="base", given={})
    return queue.put(test, "stopped")


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[LabQueue]:
    with contextlib.closing(LabQueue(tmp_path / "lab")) as found:
        yield found


def test_webhooks_are_told_of_each_end_after_a_place(queue: LabQueue) -> None:
    events = queue_host.TestEvents(queue, lambda test: test.id)
    for _ in range(3):
        ended(queue)
    told = list(events.ended("test", (0.0, ""), 100))
    assert [each.data for each in told] == [1, 2, 3]
    assert list(events.ended("test", told[1][:2], 100)) == told[2:]


def test_files_that_were_unpacked_while_a_test_was_stopped_are_removed(queue: LabQueue) -> None:
    test = ended(queue)
    (queue.place(test) / "code" / "base").mkdir(parents=True)
    host = SimulatedHost(1, [])
    host.queue = queue
    child: Any = types.SimpleNamespace(code=0)
    run = host._runs["ada"] = _Run(test.id, child, [0])
    host._failures = {test.id: (2, 0.0)}
    host._told(run, TrialNews("running", TrialResult(), played=True))
    assert not host._failures
    host._exited("ada")
    assert {each.name for each in queue.place(test).iterdir()} == {"test.json"}
