"""The faults of workers of a cluster, without a cluster."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pytest

pytest.importorskip("distributed")

from playout.cluster import workers
from playout.cluster.workers import CheckedWorker, Need, NoAnswerError, WorkerAnswer, fault_table
from playout.protocol import versions

GOOD = WorkerAnswer("lab1", versions.installed(), 4, 100.0, ())
NEED = Need("cores", lambda _: [], "nets,cluster")


@dataclass(frozen=True)
class FakeWorker:
    """The answers of a worker, and to the offer of its cores; None if it is gone."""

    answer: object
    offered: object = None
    python: object = platform.python_version()
    playout: object = version("playout")

    def ask(self, _: str, call: Callable[..., Any], *__: object) -> object:
        answers = {
            platform.python_version: self.python,
            version: self.playout,
            workers.examine: self.answer,
            workers.offer: self.offered,
        }
        return answers[call]


def answered(**changes: Any) -> FakeWorker:
    given = {"host": "lab1", "code": GOOD.code, "cores": 4, "speed": 100.0, "faults": ()}
    return FakeWorker(WorkerAnswer(**given | changes))


@pytest.mark.parametrize(
    ("worker", "sentence"),
    [
        (FakeWorker(None, python="3.99.0"), "it runs Python 3.99.0, and the runner 3."),
        (FakeWorker(None, python=OSError("timed out")), "it cannot be checked: OSError: timed out"),
        (FakeWorker(None, playout="9.9"), "it has Playout 9.9, and the runner "),
        (
            FakeWorker(None, playout=PackageNotFoundError("playout")),
            'pip install ".[nets,cluster]" in a checkout of Playout',
        ),
        (answered(code="x"), "has other games or players than the runner's"),
        (answered(faults=("there is no program",)), "there is no program"),
        (FakeWorker(ModuleNotFoundError("no", name="playout")), "Playout is not installed there"),
        (FakeWorker(AttributeError("no ask")), "it has another version of Playout (no ask)"),
        (FakeWorker(NoAnswerError("no answer")), "it cannot be checked: no answer"),
        (FakeWorker(GOOD, NoAnswerError("too late")), "it cannot be checked: too late"),
        (FakeWorker(None), "it cannot be checked: it is gone"),
    ],
)
def test_a_fault_of_a_worker_is_one_sentence(worker: FakeWorker, sentence: str) -> None:
    found = workers.checked(worker.ask, NEED, "one")
    good = workers.checked(answered().ask, NEED, "two")
    (fault,) = found.faults
    assert sentence in fault
    assert (found.cores, good.cores) == (0, 4)
    table = fault_table([good, found])
    assert sentence in table
    assert "two" not in table


@pytest.mark.parametrize(
    "late",
    [
        FakeWorker(None, python=NoAnswerError()),
        FakeWorker(None, playout=NoAnswerError()),
        FakeWorker(NoAnswerError()),
        FakeWorker(GOOD, NoAnswerError()),
    ],
)
def test_a_worker_is_silent_if_any_answer_does_not_come(late: FakeWorker) -> None:
    assert workers.checked(late.ask, NEED, "one").is_silent
    assert not workers.checked(FakeWorker(None).ask, NEED, "one").is_silent


def test_there_is_no_table_without_faults() -> None:
    assert fault_table([CheckedWorker("one", cores=4)]) == ""
