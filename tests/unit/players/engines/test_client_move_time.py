"""players.engines.client: what is left of a move's time, less a margin."""

from __future__ import annotations

import pytest

from playout.players import Limit, MatchClock, TimeLeft
from playout.players.engines.client import MoveTime

FULL = TimeLeft(10.0)


class SetTime:
    """A time that the test sets."""

    def __init__(self) -> None:
        self.s = 100.0

    def __call__(self) -> float:
        return self.s


@pytest.fixture
def watch() -> SetTime:
    return SetTime()


@pytest.mark.parametrize(
    ("margin_s", "seconds", "told"),
    [
        (0.03, 0.28, 0.25),  # the least margin
        (0.03, 2.0, 1.9),  # a share of the time
        (0.0, 2.0, 1.9),
        (0.2, 1.0, 0.8),  # that of the file
        (0.03, 0.04, 0.02),  # at most one half
    ],
)
def test_a_margin_is_kept_back(
    watch: SetTime, margin_s: float, seconds: float, told: float
) -> None:
    given = MoveTime(margin_s, watch).left(Limit(seconds))
    assert given.seconds == pytest.approx(told)


def test_elapsed_time_of_the_move_is_not_given_again(watch: SetTime) -> None:
    measured = MoveTime(0.03, watch)
    measured.begin(watch.s)
    watch.s += 0.1  # such as for a new board
    limit = Limit(0.28, clock=MatchClock(FULL, 0.0, (FULL, FULL), overhead_s=0.02))
    given = measured.left(limit)
    assert given.seconds == pytest.approx(0.15)
    assert given.clock
    assert given.clock.overhead_s == pytest.approx(0.15)


def test_an_engine_that_exceeds_its_time_gets_less_of_it(watch: SetTime) -> None:
    measured = MoveTime(0.03, watch)
    measured.begin(watch.s)
    given = measured.left(Limit(1.0))
    assert given.seconds == pytest.approx(0.95)
    watch.s += 0.95 + 0.12
    measured.answered(given.seconds)
    for _ in range(2):
        measured.begin(watch.s)
        assert measured.left(Limit(1.0)).seconds == pytest.approx(1 - 2 * 0.12)
        watch.s += 0.5  # an early answer changes nothing
        measured.answered(0.76)
    measured.new_match()
    measured.begin(watch.s)
    assert measured.left(Limit(1.0)).seconds == pytest.approx(1 - 0.12)


def test_without_a_limit_there_is_nothing_to_keep_back(watch: SetTime) -> None:
    measured = MoveTime(0.03, watch)
    assert measured.left(Limit()) == Limit()
    watch.s += 5.0
    measured.answered(None)
    assert measured.left(Limit(1.0)).seconds == 0.0  # 5 of 1 seconds have passed
