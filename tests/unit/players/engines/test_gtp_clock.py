"""The time for a move, by what a GTP controller says of the clock."""

from __future__ import annotations

import pytest

from playout.players.engines.gtp import GtpClock, GtpError


def seconds(clock: GtpClock, seat: int = 1, ply: int = 0) -> float | None:
    """The limit for a move of a match with at most 225 moves."""
    return clock.limit(seat, ply=ply, max_plies=225).seconds


def between(low: float, value: float | None, high: float) -> bool:
    return value is not None and low <= value <= high


@pytest.mark.parametrize(
    "arguments", [("0", "0", "0"), ("0", "10", "0"), ("1800", "30", "0"), None]
)
def test_without_a_limit_the_player_decides(arguments: tuple[str, str, str] | None) -> None:
    """GTP writes no limit as an overtime with 0 stones."""
    clock = GtpClock()
    clock.set("300", "0", "0")
    if arguments is None:
        clock.set_kgs(["none"])
    else:
        clock.set(*arguments)
    assert seconds(clock) is None


def test_main_time_is_spread_over_the_match() -> None:
    clock = GtpClock()
    clock.set("1800", "0", "0")
    assert between(30, seconds(clock), 180)
    assert clock.limit(1, ply=0, max_plies=225).time_carries_over


def test_time_left_is_believed() -> None:
    clock = GtpClock()
    clock.set("1800", "0", "0")
    clock.set_left(1, "10", "0")
    assert between(0.1, seconds(clock, 1), 5)
    assert between(30, seconds(clock, 2), 180)


def test_own_moves_are_counted_where_no_time_left_is_sent() -> None:
    clock = GtpClock()
    clock.set("100", "0", "0")
    clock.used(1, 99.0)
    assert between(0.001, seconds(clock), 0.5)
    clock.used(1, 99.0)
    assert between(0.001, seconds(clock), 0.1)
    clock.restart()
    assert between(1, seconds(clock), 10)


def test_canadian_overtime_is_shared_by_its_stones() -> None:
    clock = GtpClock()
    clock.set("0", "50", "10")
    assert between(4, seconds(clock), 5)
    clock.set_left(1, "6", "3")
    assert between(1.5, seconds(clock), 2)
    clock.used(1, 1.9)
    assert between(4, seconds(clock), 5)


def test_a_period_of_byo_yomi_is_used_nearly_to_its_end() -> None:
    clock = GtpClock()
    clock.set_kgs(["byoyomi", "600", "30", "5"])
    assert between(45, seconds(clock), 100)
    clock.set_left(1, "30", "5")
    assert between(29, seconds(clock), 30)
    clock.set_left(1, "12", "1")
    assert between(11, seconds(clock), 12)
    assert not clock.limit(1, ply=0, max_plies=225).time_carries_over


def test_time_left_without_settings_is_a_clock() -> None:
    clock = GtpClock()
    clock.set_left(2, "60", "0")
    assert between(1, seconds(clock, 2), 10)
    clock = GtpClock()
    clock.set_left(2, "60", "20")
    assert between(2.5, seconds(clock, 2), 3)


@pytest.mark.parametrize(
    "arguments",
    [["byoyomi", "1", "2"], ["byoyomi", "1", "0", "5"], ["byoyomi", "1", "2", "0"], ["fischer"],
     ["absolute"], ["absolute", "soon"], ["canadian", "1", "2"], ["none", "1"]],
)  # fmt: skip
def test_settings_that_cannot_be_read_are_refused(arguments: list[str]) -> None:
    with pytest.raises(GtpError, match=r"expected|must be"):
        GtpClock().set_kgs(arguments)
