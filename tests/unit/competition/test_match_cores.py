"""playout.competition.match_cores: which matches share cores."""

from __future__ import annotations

import os
from functools import partial

import pytest

from playout.competition.match_cores import MatchCores, kept_to


@pytest.fixture
def cores(monkeypatch: pytest.MonkeyPatch) -> MatchCores:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 7})
    return MatchCores()


def test_each_match_has_a_core_as_long_as_there_are_enough(cores: MatchCores) -> None:
    assert [*map(partial(cores.take, number=1), "aabcd")] == [[3], [3], [5], [7], [3]]
    cores.give("a")
    cores.give("b")
    assert cores.take("e", 1) == [5]
    cores.give("a")
    cores.give("d")
    assert cores.take("f", 2) == [3, 5]


def test_a_bot_runs_on_the_cores_of_the_thread_that_starts_it() -> None:
    before = os.sched_getaffinity(0)
    with kept_to([min(before)]):
        assert os.sched_getaffinity(0) == {min(before)}
    with kept_to([]):
        assert os.sched_getaffinity(0) == before
    assert os.sched_getaffinity(0) == before
