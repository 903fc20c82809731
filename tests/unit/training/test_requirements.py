"""What is missing on a worker of a cluster, without a cluster."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from typing import Any

import pytest

pytest.importorskip("distributed")

from playout.players.training.cluster import requirements
from playout.players.training.settings import ProcessSettings
from support.fake_workers import FakeWorker, FakeWorkers

GOOD = replace(requirements.installation(4), backends=("onnxruntime",), has_onnx=True)

MISSING = PackageNotFoundError("playout")


def installed(**changes: Any) -> FakeWorker:
    return FakeWorker(replace(GOOD, **changes))


@pytest.mark.parametrize(
    ("worker", "backend", "sentence"),
    [
        (FakeWorker(None, python="3.99.0"), "auto", "it runs Python 3.99.0, and the runner 3."),
        (
            FakeWorker(None, playout=PackageNotFoundError("playout")),
            "auto",
            'pip install ".[nets,cluster]" in a checkout of Playout',
        ),
        (installed(code="x"), "auto", "has other games or players than the runner's"),
        (installed(has_onnx=False), "auto", "it lacks the package onnx, which nets need"),
        (installed(backends=()), "auto", "it lacks the package onnxruntime or openvino, "),
        (installed(), "openvino", 'which nets need: pip install ".[nets,openvino]" in a'),
        (FakeWorker(TimeoutError("no answer")), "auto", "it cannot be checked: no answer"),
        (FakeWorker(GOOD, TimeoutError("too late")), "auto", "it cannot be checked: too late"),
    ],
)
def test_what_is_missing_is_one_sentence(worker: FakeWorker, backend: str, sentence: str) -> None:
    workers = FakeWorkers({"one": worker, "two": installed(backends=("openvino", "onnxruntime"))})
    settings = ProcessSettings(backend=backend)
    found = requirements.check(workers.connection, settings)
    assert [len(each.faults) for each in found] == [1, 0]
    assert sentence in found[0].faults[0]
    assert [each.cores for each in found] == [0, 4]
    assert workers.offering == ["two"]
    assert sentence in requirements.table(found)


def test_there_is_no_table_if_nothing_is_missing() -> None:
    workers = FakeWorkers({"one": installed()})
    found = requirements.check(workers.connection, ProcessSettings())
    assert requirements.table(found) == ""
