"""The time for a move, by what a Gomocup manager says with INFO."""

from __future__ import annotations

import pytest

from playout.players.engines.gomocup_engine import GomocupLimits


def limits(**values: int) -> GomocupLimits:
    told = GomocupLimits()
    for key, value in values.items():
        told.set(key, str(value))
    return told


def seconds(told: GomocupLimits) -> float | None:
    return told.limit(1, 0, 225).seconds


def test_without_info_the_player_decides() -> None:
    assert seconds(limits()) is None
    assert seconds(limits(timeout_match=0, time_left=2147483647)) is None


def test_a_turn_is_used_nearly_to_its_end() -> None:
    told = seconds(limits(timeout_turn=5000, timeout_match=1000000, time_left=1000000))
    assert told is not None
    assert 4.9 <= told < 5


@pytest.mark.parametrize("value", [0, -5, 1])
def test_as_fast_as_possible_is_a_moment(value: int) -> None:
    told = seconds(limits(timeout_turn=value))
    assert told is not None
    assert 0 < told < 0.1


def test_the_time_of_the_match_limits_a_turn() -> None:
    told = seconds(limits(timeout_turn=30000, timeout_match=180000, time_left=3000))
    assert told is not None
    assert 0.01 < told < 1.5


@pytest.mark.parametrize("left", [0, -100])
def test_a_match_whose_time_is_over_gets_a_moment(left: int) -> None:
    told = seconds(limits(timeout_turn=30000, timeout_match=180000, time_left=left))
    assert told is not None
    assert told < 0.1


def test_own_moves_are_counted_where_no_time_left_is_sent() -> None:
    told = limits(timeout_turn=30000, timeout_match=60000)
    before = seconds(told)
    told.used(59.0)
    after = seconds(told)
    assert before is not None
    assert after is not None
    assert after < 0.5 < before
    told.restart()
    assert seconds(told) == before


@pytest.mark.parametrize(
    ("key", "value"), [("rule", "many"), ("rule", ""), ("fly", "1"), ("rule", "9" * 40)]
)
def test_meaningless_values_are_ignored(key: str, value: str) -> None:
    told = GomocupLimits()
    told.set(key, value)
    assert told.rule == 0
    assert told.memory_bytes == 0
