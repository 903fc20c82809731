"""The table of what is wrong with which worker, without a cluster."""

from __future__ import annotations

import time
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from typing import Any

import pytest

from support.fixtures import spec

pytest.importorskip("distributed")

from playout.protocol import versions
from playout.server.organizer.cluster import preflight
from playout.server.organizer.cluster.core_set import unreachable
from playout.server.organizer.cluster.job import ClusterJob
from playout.server.organizer.cluster.preflight import WorkerAnswer
from support.fake_workers import FakeWorker, FakeWorkers
from testbed.machine import reserve_port

#: The time at which workers are asked and answer.
NOW = 1_800_000_000.0
JOB = ClusterJob(spec(), ("10.1.2.3", 4242), {}, {}, {})

GOOD = WorkerAnswer("lab1", versions.installed(), NOW, (), "", 100.0, 4)


def answered(**changes: Any) -> FakeWorker:
    return FakeWorker(replace(GOOD, **changes))


@pytest.fixture(autouse=True)
def _now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: NOW)


def checked(**given: FakeWorker) -> list[preflight.CheckedWorker]:
    workers = FakeWorkers(given)
    found = preflight.check(workers.connection, JOB)
    assert workers.offering == [each.address for each in found if not each.faults]
    return found


@pytest.mark.parametrize(
    ("worker", "sentence"),
    [
        (FakeWorker(None, python="3.99.0"), "it runs Python 3.99.0, and the runner 3."),
        (FakeWorker(None, python=OSError("timed out")), "it cannot be checked: OSError: timed out"),
        (FakeWorker(None, playout="9.9"), "it has Playout 9.9, and the runner "),
        (
            FakeWorker(None, playout=PackageNotFoundError("playout")),
            'pip install ".[cluster]" in a checkout of Playout',
        ),
        (answered(code="x"), "has other games or players than the runner's"),
        (answered(missing=("rhino",)), "there is no program 'rhino' that can be run"),
        (
            answered(unreachable="Connection refused"),
            "it cannot connect to the server at 10.1.2.3:4242 (Connection refused): use a server",
        ),
        (
            answered(sandbox="bubblewrap cannot be enforced on this machine"),
            "bubblewrap cannot be enforced on this machine",
        ),
        (answered(time=NOW + 3600), "its clock is 60 minutes ahead: set it"),
        (FakeWorker(ModuleNotFoundError("no", name="playout")), "Playout is not installed there"),
        (FakeWorker(AttributeError("no ask")), "it has another version of Playout (no ask)"),
        (FakeWorker(TimeoutError("no answer")), "it cannot be checked: no answer"),
        (FakeWorker(GOOD, TimeoutError("too late")), "it cannot be checked: too late"),
        (FakeWorker(None), "it cannot be checked: it is gone"),
    ],
)
def test_a_fault_of_a_worker_is_one_sentence(worker: FakeWorker, sentence: str) -> None:
    found = checked(one=worker, two=answered())
    assert [len(each.faults) for each in found] == [1, 0]
    assert sentence in found[0].faults[0]
    assert [each.cores for each in found] == [0, 4]
    table = preflight.table(found)
    assert sentence in table
    assert "two" not in table


def test_there_is_no_table_without_faults() -> None:
    assert preflight.table(checked(one=answered())) == ""


def test_a_slow_worker_is_reported_beside_the_others() -> None:
    slow = answered(speed=50.0, host="lab9")
    (line,) = preflight.slow_workers(checked(one=answered(), two=slow, three=answered()))
    assert line.startswith("worker two (lab9) computes at 50% of the median speed")


def test_a_port_on_which_nothing_listens_is_unreachable() -> None:
    assert unreachable(("127.0.0.1", reserve_port())) == "Connection refused"
