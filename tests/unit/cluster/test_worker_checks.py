"""server.cluster.worker_checks: which workers have been checked, and are still there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, cast

import pytest

pytest.importorskip("distributed")

from server.cluster.connection import DaskConnection
from server.cluster.worker_checks import WorkerChecks


@dataclass(frozen=True)
class PlainWorker:
    address: str


class LaterCalls:
    """Calls that wait, until the test makes them."""

    def __init__(self) -> None:
        self._calls: list[Callable[[], None]] = []

    def later(self, call: Callable[..., Any], *arguments: object) -> Future[Any]:
        future: Future[Any] = Future()

        def make() -> None:
            try:
                future.set_result(call(*arguments))
            except OSError as error:
                future.set_exception(error)

        self._calls.append(make)
        return future

    def make(self, number: int = 0) -> None:
        """Make the call of this number of those that wait."""
        self._calls.pop(number)()


def check(workers: Sequence[str] | None) -> list[PlainWorker]:
    if workers == ["broken"]:
        raise OSError("the connection was lost")
    return [PlainWorker(each) for each in workers or ("a", "b")]


@pytest.fixture
def calls() -> LaterCalls:
    return LaterCalls()


@pytest.fixture
def checks(calls: LaterCalls) -> WorkerChecks[PlainWorker]:
    return WorkerChecks(cast(DaskConnection, calls), check)


def test_no_check_waits_for_another(calls: LaterCalls, checks: WorkerChecks[PlainWorker]) -> None:
    checks.start(["slow"])
    checks.start(["quick"])
    calls.make(1)
    assert checks.ended() == [PlainWorker("quick")]
    calls.make()
    assert checks.ended() == [PlainWorker("slow")]
    assert checks.ended() == []


def test_a_worker_that_was_lost_meanwhile_is_left_out(
    calls: LaterCalls, checks: WorkerChecks[PlainWorker]
) -> None:
    checks.start(None)
    checks.worker_lost("a")
    calls.make()
    assert checks.ended() == [PlainWorker("b")]


def test_a_worker_that_comes_back_was_not_lost(
    calls: LaterCalls, checks: WorkerChecks[PlainWorker]
) -> None:
    checks.start(["a"])
    checks.worker_lost("a")
    checks.start(["a"])
    calls.make(1)
    assert checks.ended() == [PlainWorker("a")]


def test_a_check_that_fails_leaves_the_others(
    calls: LaterCalls, checks: WorkerChecks[PlainWorker]
) -> None:
    checks.start(["broken"])
    checks.start(["a"])
    calls.make()
    calls.make()
    assert checks.ended() == [PlainWorker("a")]
