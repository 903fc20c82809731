"""playout.cluster.worker_checks: which workers have been checked, and are still there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, cast

import pytest

pytest.importorskip("distributed")

from playout.cluster.connection import DaskConnection
from playout.cluster.worker_checks import WorkerChecks


@dataclass(frozen=True)
class PlainWorker:
    address: str


class LaterCalls:
    """A connection whose calls wait, until the test makes them."""

    def __init__(self) -> None:
        self.silent: set[str] = set()
        self._calls: list[Callable[[], None]] = []

    def ask_later(self, call: Callable[..., Any], *arguments: object) -> Future[Any]:
        future: Future[Any] = Future()

        def make() -> None:
            try:
                future.set_result(call(*arguments))
            except OSError as error:
                future.set_exception(error)

        self._calls.append(make)
        return future

    def is_silent(self, worker: str) -> bool:
        return worker in self.silent

    def make(self, number: int = 0) -> None:
        """Make the call of this number of those that wait."""
        self._calls.pop(number)()


def check(workers: Sequence[str]) -> list[PlainWorker]:
    if workers == ["broken"]:
        raise OSError("the connection was lost")
    return [PlainWorker(each) for each in workers]


@pytest.fixture
def calls() -> LaterCalls:
    return LaterCalls()


@pytest.fixture
def checks(calls: LaterCalls) -> WorkerChecks[PlainWorker]:
    return WorkerChecks(cast(DaskConnection, calls), check)


def test_no_check_waits_for_another(calls: LaterCalls, checks: WorkerChecks[PlainWorker]) -> None:
    checks.start(["slow", "quick"])
    calls.make(1)
    assert checks.ended() == [PlainWorker("quick")]
    calls.make()
    assert checks.ended() == [PlainWorker("slow")]
    assert checks.ended() == []


def test_a_worker_that_was_lost_meanwhile_is_left_out(
    calls: LaterCalls, checks: WorkerChecks[PlainWorker]
) -> None:
    checks.start(["a", "b"])
    checks.worker_lost("a")
    calls.make()
    calls.make()
    assert checks.ended() == [PlainWorker("b")]


def test_a_worker_at_the_address_of_a_lost_one_waits_for_its_own_check(
    calls: LaterCalls, checks: WorkerChecks[PlainWorker]
) -> None:
    checks.start(["a"])
    calls.make()
    checks.worker_lost("a")
    checks.start(["a"])
    assert checks.ended() == []
    calls.make()
    assert checks.ended() == [PlainWorker("a")]


def test_checks_of_a_connection_end_with_it(
    calls: LaterCalls, checks: WorkerChecks[PlainWorker]
) -> None:
    checks.start(["a", "b"])
    calls.make()
    checks.clear()
    calls.make()
    assert checks.ended() == []


def test_a_check_that_fails_leaves_the_others(
    calls: LaterCalls, checks: WorkerChecks[PlainWorker]
) -> None:
    checks.start(["broken", "a"])
    calls.make()
    calls.make()
    assert checks.ended() == [PlainWorker("a")]


def test_a_silent_worker_is_named_once_and_again_when_it_answers(
    calls: LaterCalls, checks: WorkerChecks[PlainWorker]
) -> None:
    calls.silent.add("a")
    checks.start(["a"])
    calls.make()
    assert checks.ended() == [PlainWorker("a")]
    until_it_answers(calls, checks)


def test_a_worker_that_was_named_as_silent_is_not_named_again_until_it_answers(
    calls: LaterCalls, checks: WorkerChecks[PlainWorker]
) -> None:
    calls.silent.add("a")
    checks.start_silent(["a", "b"])
    until_it_answers(calls, checks)


def until_it_answers(calls: LaterCalls, checks: WorkerChecks[PlainWorker]) -> None:
    """Check worker "a", which is silent and was named."""
    calls.make()
    assert checks.ended() == []
    calls.silent.clear()
    calls.make()
    assert checks.ended() == [PlainWorker("a")]
    with pytest.raises(IndexError):  # no check is left
        calls.make()
