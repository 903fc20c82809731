"""playout.commands.restarts: how long to wait before a process is started again."""

from __future__ import annotations

import pytest

from playout.commands.restarts import BackOff, Restarts

BACK_OFF = BackOff(first_s=0.5, longest_s=3.0)


def test_the_wait_doubles_up_to_the_longest() -> None:
    restarts = Restarts(BACK_OFF)
    assert [restarts.failed(0.0) for _ in range(5)] == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_a_first_start_is_due_at_once() -> None:
    assert Restarts(BACK_OFF).is_due(0.0)


def test_the_next_start_is_due_when_the_wait_is_over() -> None:
    restarts = Restarts(BACK_OFF)
    restarts.failed(100.0)
    assert not restarts.is_due(100.4)
    assert restarts.is_due(100.5)


def test_after_a_success_the_wait_is_the_first_one_again() -> None:
    restarts = Restarts(BACK_OFF)
    restarts.failed(0.0)
    restarts.failed(0.0)
    restarts.succeeded()
    assert restarts.failures == 0
    assert restarts.failed(0.0) == 0.5


def test_a_failure_that_does_not_count_leaves_the_wait_as_it_was() -> None:
    restarts = Restarts(BACK_OFF, limit=3)
    assert restarts.failed(0.0, counts=False) == 0.5
    assert [restarts.failed(0.0), restarts.failed(0.0)] == [0.5, 1.0]
    assert restarts.failed(7.0, counts=False) == 1.0
    assert restarts.failures == 2
    assert not restarts.exhausted
    assert not restarts.is_due(7.9)


def test_it_is_exhausted_after_the_limit_of_failures_in_a_row() -> None:
    restarts = Restarts(BACK_OFF, limit=2)
    restarts.failed(0.0)
    restarts.succeeded()
    restarts.failed(0.0)
    assert not restarts.exhausted
    restarts.failed(0.0)
    assert restarts.exhausted


def test_without_a_limit_it_is_never_exhausted() -> None:
    restarts = Restarts(BACK_OFF)
    for _ in range(5000):  # 2.0 ** 5000 is no float
        restarts.failed(0.0)
    assert restarts.failed(0.0) == 3.0
    assert not restarts.exhausted


@pytest.mark.parametrize(("failures", "wait_s"), [(0, 0.1), (1, 0.1), (2, 0.15), (30, 2.0)])
def test_the_factor_may_be_another(failures: int, wait_s: float) -> None:
    assert BackOff(0.1, 2.0, factor=1.5).wait_s(failures) == pytest.approx(wait_s)
