"""playout.commands.cores: which users share cores."""

from __future__ import annotations

import os
from functools import partial

import pytest

from playout.commands.cores import Cores, kept_to


@pytest.fixture
def cores(monkeypatch: pytest.MonkeyPatch) -> Cores:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 7})
    return Cores()


def test_each_match_has_a_core_as_long_as_there_are_enough(cores: Cores) -> None:
    assert [*map(partial(cores.take, number=1), "aabcd")] == [[3], [3], [5], [7], [3]]
    cores.give_back("a")
    cores.give_back("b")
    assert cores.take("e", 1) == [5]
    cores.give_back("a")
    cores.give_back("d")
    assert cores.take("f", 2) == [3, 5]


def test_cores_that_are_not_shared_are_free(cores: Cores) -> None:
    assert cores.take("a", 2, shared=False) == [3, 5]
    assert not cores.take("b", 2, shared=False)
    assert cores.take("c", 1, shared=False) == [7]
    for each in "ab":
        cores.give_back(each)
    assert cores.take("d", 2, shared=False) == [3, 5]


def test_a_bot_runs_on_the_cores_of_the_thread_that_starts_it() -> None:
    before = os.sched_getaffinity(0)
    with kept_to([min(before)]):
        assert os.sched_getaffinity(0) == {min(before)}
    with kept_to([]):
        assert os.sched_getaffinity(0) == before
    assert os.sched_getaffinity(0) == before
