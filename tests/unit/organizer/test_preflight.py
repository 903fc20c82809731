"""The table of what is wrong with which worker, without a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

import pytest
from support.fixtures import spec

pytest.importorskip("distributed")

from testbed.machine import reserve_port

from server.organizer.cluster import preflight, worker_check
from server.organizer.cluster.connection import DaskConnection
from server.organizer.cluster.core_set import unreachable
from server.organizer.cluster.job import ClusterJob
from server.organizer.cluster.worker_check import WorkerAnswer

#: The time at which workers are asked and answer.
NOW = 1_800_000_000.0
JOB = ClusterJob(spec(), ("10.1.2.3", 4242), {}, {}, {})


class FakeWorkers:
    """Workers that give these answers, by their addresses."""

    def __init__(self, answers: Mapping[str, object]) -> None:
        self.offering: list[str] = []
        self._answers = answers

    def run(self, call: Callable[..., Any], *_: object, workers: object) -> Mapping[str, object]:
        if call is worker_check.offer_cores:
            self.offering = cast(list[str], workers)
            return {}
        return self._answers


def good() -> WorkerAnswer:
    python, playout, code = worker_check.versions()
    return WorkerAnswer("lab1", python, playout, code, NOW, (), "", 100.0, 4)


@pytest.fixture(autouse=True)
def _now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: NOW)


def checked(**answers: object) -> list[preflight.CheckedWorker]:
    workers = FakeWorkers(answers)
    found = preflight.check(cast(DaskConnection, workers), JOB)
    assert workers.offering == [each.address for each in found if not each.faults]
    return found


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (replace(good(), python="3.99.0"), "it runs Python 3.99.0, and the runner 3."),
        (replace(good(), playout="9.9"), "it has Playout 9.9, and the runner "),
        (replace(good(), code="x"), "has other games or players than the runner's"),
        (replace(good(), missing=("rhino",)), "there is no program 'rhino' that can be run"),
        (
            replace(good(), unreachable="Connection refused"),
            "it cannot connect to the server at 10.1.2.3:4242 (Connection refused): use a server",
        ),
        (replace(good(), time=NOW + 3600), "its clock is 60 minutes ahead: set it"),
        (ModuleNotFoundError("no", name="server"), "Playout is not installed there: pip install"),
        (AttributeError("no ask"), "it has another version of Playout (no ask)"),
        (TimeoutError("30 s"), "it cannot be checked: TimeoutError: 30 s"),
    ],
)
def test_a_fault_of_a_worker_is_one_sentence(answer: object, sentence: str) -> None:
    found = checked(one=answer, two=good())
    assert [len(each.faults) for each in found] == [1, 0]
    assert sentence in found[0].faults[0]
    assert [each.cores for each in found] == [0, 4]
    table = preflight.table(found)
    assert sentence in table
    assert "two" not in table


def test_there_is_no_table_without_faults() -> None:
    assert preflight.table(checked(one=good())) == ""


def test_a_slow_worker_is_reported_beside_the_others() -> None:
    slow = replace(good(), speed=50.0, host="lab9")
    (line,) = preflight.slow_workers(checked(one=good(), two=slow, three=good()))
    assert line.startswith("worker two (lab9) computes at 50% of the median speed")


def test_a_port_on_which_nothing_listens_is_unreachable() -> None:
    assert unreachable(("127.0.0.1", reserve_port())) == "Connection refused"
