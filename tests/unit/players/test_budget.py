"""playout.players.core.budget: how a player divides its time."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from playout.players import Limit, TimeLeft
from playout.players.core.budget import LEAST_S, OVERHEAD_S, OVERHEAD_SHARE, limit_for_move
from playout.protocol.messages import ClockState, TimeControl
from playout.protocol.time_control import parse_time_control, spell_time_control
from playout.server.core.clock import Clock
from support.scale import repetitions

PLIES = 60


def seconds_for(clock: str, left: ClockState, ply: int = 0, lag_s: float = 0.0) -> float:
    limit = limit_of(clock, left, lag_s=lag_s, ply=ply)
    assert limit.seconds is not None
    return limit.seconds


def limit_of(clock: str, left: ClockState, ply: int = 0, lag_s: float = 0.0) -> Limit:
    """The limit of the second player, whose clock shows `left`; the other's is full."""
    control = parse_time_control(clock)
    assert control is not None
    both = (ClockState(control.main_s, control.periods), left)
    return limit_for_move(control, both, 2, lag_s=lag_s, ply=ply, max_plies=PLIES)


def test_without_a_clock_there_is_no_limit() -> None:
    assert limit_for_move(None, None, 1, lag_s=0.0, ply=0, max_plies=40) == Limit()


@pytest.mark.parametrize(
    ("clock", "left", "least", "most"),
    [
        ("1/move", ClockState(0.0, 1), 0.95, 0.98),
        ("0.1/move", ClockState(0.0, 1), 0.07, 0.08),
        ("0.02/move", ClockState(0.0, 1), 0.005, 0.015),
        ("1/move", ClockState(0.4, 0), 0.35, 0.38),  # back in the middle of a move
        ("300+0", ClockState(300.0, 0), 10.0, 20.0),
        ("300+3", ClockState(300.0, 0), 10.0, 20.0),
        ("300+3", ClockState(0.5, 0), 0.2, 0.25),  # the increment comes only after the move
        ("600+5x30", ClockState(600.0, 5), 50.0, 80.0),
        ("600+5x30", ClockState(1.0, 5), 29.0, 31.0),
        ("600+5x30", ClockState(0.0, 5), 29.0, 30.0),
        ("600+5x30", ClockState(0.0, 1), 29.0, 30.0),
        ("600+5x30", ClockState(12.0, 3), 11.0, 12.0),  # the rest of a period, not main time
        ("120d12", ClockState(120.0, 0, 12.0), 15.0, 20.0),
        ("120d12", ClockState(0.5, 0, 12.0), 11.9, 12.4),
        ("120d12", ClockState(0.5, 0, 0.0), 0.02, 0.25),  # the delay of this move is over
    ],
)
def test_a_sensible_share_is_used(clock: str, left: ClockState, least: float, most: float) -> None:
    assert least <= seconds_for(clock, left) <= most


@pytest.mark.parametrize(
    ("clock", "left", "saves"),
    [
        ("1/move", ClockState(0.0, 1), False),
        ("0.02/move", ClockState(0.0, 1), False),
        ("300+0", ClockState(300.0, 0), True),
        ("300+3", ClockState(0.5, 0), True),
        ("600+5x30", ClockState(600.0, 5), True),
        ("600+5x30", ClockState(10.0, 5), False),  # most of it is a period's
        ("600+5x30", ClockState(0.0, 5), False),
        ("600+5x30", ClockState(12.0, 4), False),
        ("120d12", ClockState(120.0, 0, 12.0), True),
        ("120d12", ClockState(10.0, 0, 12.0), False),  # most of it is the delay
    ],
)
def test_unused_time_is_kept_or_lost(clock: str, left: ClockState, saves: bool) -> None:
    assert limit_of(clock, left).time_carries_over is saves


@pytest.mark.parametrize(
    ("clock", "left", "told"),
    [
        ("300+3", ClockState(12.5, 0), TimeLeft(12.5)),
        ("1/move", ClockState(0.0, 1), TimeLeft(0.0, 1, 1.0)),
        ("1/move", ClockState(0.4, 0), TimeLeft(0.0, 1, 0.4)),
        ("600+5x30", ClockState(600.0, 5), TimeLeft(600.0, 5, 30.0)),
        ("600+5x30", ClockState(12.0, 3), TimeLeft(0.0, 4, 12.0)),  # within the second period
        ("600+5x30", ClockState(0.0, 3), TimeLeft(0.0, 3, 30.0)),
    ],
)
def test_a_player_is_told_both_clocks(clock: str, left: ClockState, told: TimeLeft) -> None:
    control = parse_time_control(clock)
    assert control is not None
    start = TimeLeft(control.main_s, control.periods, control.period_s)
    given = limit_of(clock, left, lag_s=0.5).clock
    assert given is not None
    assert (given.start, given.increment_s) == (start, control.increment_s)
    assert given.left == (start, told)
    assert given.overhead_s > 0.5


def test_the_network_is_taken_off() -> None:
    for clock, left in (("1/move", ClockState(0.0, 1)), ("300+3", ClockState(3.0, 0))):
        assert seconds_for(clock, left, lag_s=0.1) < seconds_for(clock, left)
    assert seconds_for("1/move", ClockState(0.0, 1), lag_s=5.0) == LEAST_S


def used_in_a_match(clock: str) -> list[float]:
    """How long each of a player's moves may take, if all are used up."""
    control = parse_time_control(clock)
    assert control is not None
    referee, used = Clock(control), []
    for ply in range(0, PLIES, 2):
        used.append(seconds_for(clock, referee.clock_states(0.0)[0], ply))
        referee.start(1, 0.0)
        assert referee.stop(used[-1])
    return used


@pytest.mark.parametrize("main_s", [60, 300])
def test_main_time_goes_rather_into_the_first_half(main_s: int) -> None:
    used = used_in_a_match(f"{main_s}+0")
    total, half = sum(used), sum(used[: len(used) // 2])
    assert 0.55 * total < half < 0.75 * total
    assert total > 0.9 * main_s
    assert all(later <= earlier for earlier, later in pairwise(used))


def test_increments_are_lived_on() -> None:
    used = used_in_a_match("10+2")
    assert sum(used) > 0.9 * (10 + 2 * (len(used) - 1))
    assert min(used) > 0.75 * 2


def test_delays_are_used_up() -> None:
    used = used_in_a_match("10d2")
    assert sum(used) > 0.9 * (10 + 2 * len(used))
    assert min(used) > 0.9 * 2


def test_periods_are_used_alike_and_none_is_lost() -> None:
    used = used_in_a_match("60+3x5")
    after = next(i for i, seconds in enumerate(used) if sum(used[:i]) >= 60)
    assert used[0] > 5
    assert set(used[after:]) == {seconds_for("60+3x5", ClockState(0.0, 1))}


CONTROLS = st.one_of(
    st.builds(TimeControl, st.just(0.0), st.just(0.0), st.just(1), st.floats(0.02, 60)),
    st.builds(
        TimeControl, st.floats(0.5, 600), st.just(0.0) | st.floats(0, 30), st.just(0), st.just(0.0)
    ),
    st.builds(TimeControl, st.floats(0, 600), st.just(0.0), st.integers(1, 5), st.floats(0.02, 60)),
    st.builds(
        TimeControl,
        *(st.floats(0.5, 600), st.just(0.0), st.just(0), st.just(0.0), st.floats(0.02, 60)),
    ),
)


@settings(max_examples=repetitions(400, short=30))
@given(
    control=CONTROLS,
    max_plies=st.integers(1, 400),
    lag_share=st.floats(0, (1 - OVERHEAD_SHARE) / 2),
    overheads=st.lists(st.floats(0, 1), min_size=1, max_size=9),
    used_shares=st.lists(st.sampled_from([1.0, 1.0, 1.0, 0.1]), min_size=1, max_size=5),
)
def test_no_flag_falls_in_a_whole_match(
    control: TimeControl,
    max_plies: int,
    lag_share: float,
    overheads: list[float],
    used_shares: list[float],
) -> None:
    """The referee's own clock; a network that takes up to half of what a move has.

    Beside it each move is up to as late as the budget allows for; some stop early.
    """
    gain_s = control.increment_s + control.delay_s
    pace_s = control.period_s or control.main_s / (max_plies // 2 + 1) + gain_s
    lag_s = lag_share * min(pace_s, control.period_s or control.main_s)
    late_s = min(OVERHEAD_S, OVERHEAD_SHARE * pace_s) - LEAST_S
    assume(late_s > 0)
    referee, now = Clock(control), 0.0
    for move, ply in enumerate(range(0, max_plies, 2)):
        referee.start(1, now)
        clocks = referee.clock_states(now)
        limit = limit_for_move(control, clocks, 1, lag_s=lag_s, ply=ply, max_plies=max_plies)
        assert limit.seconds is not None
        thought_s = limit.seconds * used_shares[move % len(used_shares)]
        now += thought_s + lag_s + late_s * overheads[move % len(overheads)]
        assert referee.stop(now), (
            f"{spell_time_control(control)}: too late at ply {ply} with {clocks[0]}"
        )
        if control.periods:
            assert referee.clock_states(now)[0].periods == control.periods
