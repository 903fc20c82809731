"""How a player divides its time."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from players.client.budget import seconds_for_move
from server.clock import Clock, parse
from server.messages import Reading

CLOCKS = ["0.02/move", "0.1/move", "1/move", "300+3", "60+0", "1+0.1", "600+5x30", "10+1x5"]


def test_without_a_clock_there_is_no_limit() -> None:
    assert seconds_for_move(None, None, lag_s=0.0, plies_left=40) is None


@pytest.mark.parametrize(
    ("clock", "left", "least", "most"),
    [
        ("1/move", Reading(0.0, 1), 0.95, 0.98),
        ("0.1/move", Reading(0.0, 1), 0.07, 0.08),
        ("0.02/move", Reading(0.0, 1), 0.01, 0.015),
        ("300+3", Reading(300.0, 0), 10.0, 20.0),
        ("300+3", Reading(0.5, 0), 0.3, 0.5),  # the increment comes only after the move
        ("600+5x30", Reading(0.0, 5), 29.0, 30.0),
        ("600+5x30", Reading(0.0, 1), 29.0, 30.0),
    ],
)
def test_a_sensible_share_is_used(clock: str, left: Reading, least: float, most: float) -> None:
    seconds = seconds_for_move(parse(clock), left, lag_s=0.0, plies_left=60)
    assert seconds is not None
    assert least <= seconds <= most


@given(
    clock=st.sampled_from(CLOCKS),
    lag_s=st.floats(0, 0.05),
    plies=st.integers(1, 300),
    jitter=st.lists(st.floats(0, 0.004), min_size=150, max_size=150),
)
def test_a_whole_match_is_played_within_the_clock(
    clock: str, lag_s: float, plies: int, jitter: list[float]
) -> None:
    """The referee's own clock, a network, and a search that stops up to 4 ms late."""
    control = parse(clock)
    assert control is not None
    assume(lag_s < 0.2 * (control.main_s + control.period_s))
    referee, now = Clock(control), 0.0
    for ply in range(0, plies, 2):
        referee.start(1, now)
        left = referee.readings(now)[0]
        seconds = seconds_for_move(control, left, lag_s=lag_s, plies_left=plies - ply)
        assert seconds is not None
        now += seconds + lag_s + jitter[ply // 2]
        assert referee.stop(now), f"too late at ply {ply} with {left}"
