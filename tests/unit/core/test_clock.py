"""Arithmetic of a match's clock: moves, increments, periods, credited time, flags."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.msgpack import encode

from playout.protocol.messages import ClockState, TimeControl
from playout.protocol.time_control import parse_time_control, parse_time_controls
from playout.server.core.clock import Clock


def running(text: str) -> Clock:
    """A clock that runs for the first player since 0."""
    time_control = parse_time_control(text)
    assert time_control is not None
    clock = Clock(time_control)
    clock.start(1, 0.0)
    return clock


def test_players_may_have_different_time_controls() -> None:
    both = parse_time_controls("10+3 | 2/move")
    assert both is not None
    clock = Clock(*both)
    assert clock.clock_states(0.0) == (ClockState(10.0, 0), ClockState(0.0, 1))
    clock.start(1, 0.0)
    assert clock.flag_at() == 10.0
    assert clock.stop(4.0)
    clock.start(2, 4.0)
    assert clock.flag_at() == 6.0
    assert clock.stop(5.0)
    assert clock.clock_states(5.0) == (ClockState(9.0, 0), ClockState(0.0, 1))
    clock.start(2, 5.0)
    assert not clock.stop(7.5)


@pytest.mark.parametrize(
    ("text", "used_s", "left"),
    [
        ("10+3", 4.0, ClockState(9.0, 0)),
        ("10+3", 10.0, ClockState(3.0, 0)),
        ("10+3", 10.125, None),
        ("10+0", 0.0, ClockState(10.0, 0)),
        ("2/move", 0.5, ClockState(0.0, 1)),
        ("2/move", 2.0, ClockState(0.0, 1)),
        ("2/move", 2.125, None),
        ("10+3x5", 10.0, ClockState(0.0, 3)),
        ("10+3x5", 10.125, ClockState(0.0, 3)),
        ("10+3x5", 15.0, ClockState(0.0, 3)),
        ("10+3x5", 15.125, ClockState(0.0, 2)),
        ("10+3x5", 24.5, ClockState(0.0, 1)),
        ("10+3x5", 25.0, ClockState(0.0, 1)),
        ("10+3x5", 25.125, None),
        ("10d2", 0.5, ClockState(10.0, 0, 2.0)),
        ("10d2", 2.0, ClockState(10.0, 0, 2.0)),
        ("10d2", 7.0, ClockState(5.0, 0, 2.0)),
        ("10d2", 12.0, ClockState(0.0, 0, 2.0)),
        ("10d2", 12.125, None),
    ],
)
def test_a_move_that_took_so_long_leaves(text: str, used_s: float, left: ClockState | None) -> None:
    clock = running(text)
    assert clock.stop(used_s) is (left is not None)
    assert clock.clock_states(used_s)[0] == (left or ClockState(0.0, 0))


def test_periods_are_kept_by_those_who_stay_within_them() -> None:
    clock = running("0+2x10")
    for move in range(5):
        clock.start(1, 100.0 * move)
        assert clock.stop(100.0 * move + 9.5)
    assert clock.clock_states(1000.0)[0] == ClockState(0.0, 2)
    clock.start(1, 1000.0)
    assert clock.stop(1019.0)
    assert clock.clock_states(1019.0)[0] == ClockState(0.0, 1)
    clock.start(1, 2000.0)
    assert clock.flag_at() == 2010.0
    assert not clock.stop(2019.0)


def test_it_runs_for_one_player_and_stands_for_the_other() -> None:
    clock = running("60+1")
    assert clock.clock_states(10.0) == (ClockState(50.0, 0), ClockState(60.0, 0))
    assert clock.stop(10.0)
    clock.start(2, 10.0)
    assert clock.clock_states(30.0) == (ClockState(51.0, 0), ClockState(40.0, 0))
    clock.halt()
    assert clock.flag_at() is None


def test_a_turn_begins_with_its_whole_delay() -> None:
    """A stored clock, that of a takeback too, has no delay of its own."""
    clock = running("10d2")
    clock.set((ClockState(3.0, 0), ClockState(4.0, 0, 0.5)))
    assert clock.clock_states(0.0) == (ClockState(3.0, 0, 2.0), ClockState(4.0, 0, 2.0))
    clock.start(2, 100.0)
    assert clock.flag_at() == 106.0


@pytest.mark.parametrize("text", ["60+1", "600+5x30", "120d0"])
def test_no_delay_is_sent_without_one(text: str) -> None:
    clock, control = running(text), parse_time_control(text)
    states = [clock.clock_states(now)[0] for now in (0.0, 5.0, 1000.0)]
    clock.stop(10.0)
    for each in (control, *states, *clock.clock_states(10.0)):
        assert b"delay_s" not in encode(each)


def test_the_rest_of_a_delay_is_sent() -> None:
    clock = running("120d12")
    sent = [b"delay_s" in encode(clock.clock_states(now)[0]) for now in (0.0, 11.5, 12.0, 15.0)]
    assert sent == [True, True, False, False]


def test_credited_time_does_not_count() -> None:
    clock = running("10+0")
    assert clock.stop(10.5, credit_s=0.5)
    assert clock.clock_states(10.5)[0] == ClockState(0.0, 0)
    generous = running("10+0")
    assert generous.stop(1.0, credit_s=5.0)
    assert generous.clock_states(1.0)[0] == ClockState(10.0, 0)


# Eighths of a second add up exactly, so that times can be exactly equal.
times = st.integers(0, 800).map(lambda eighths: eighths / 8)
lengths = st.integers(1, 800).map(lambda eighths: eighths / 8)
time_controls = st.builds(TimeControl, lengths, times, st.just(0), st.just(0.0)) | st.builds(
    TimeControl, times, st.just(0.0), st.integers(1, 5), lengths
)
time_controls |= st.builds(TimeControl, lengths, st.just(0.0), st.just(0), st.just(0.0), lengths)


def total(time_control: TimeControl, left: ClockState) -> float:
    return left.delay_s + left.main_s + left.periods * time_control.period_s


@given(time_controls, st.lists(times, max_size=20))
def test_time_grows_by_the_increment_and_by_nothing_else(
    time_control: TimeControl, thinking: list[float]
) -> None:
    clock, now = Clock(time_control), 0.0
    for move, used_s in enumerate(thinking):
        seat = move % 2 + 1
        before = clock.clock_states(now)
        clock.start(seat, now)
        now += used_s
        in_time = clock.stop(now)
        after = clock.clock_states(now)
        assert after[2 - seat] == before[2 - seat]
        used_up = total(time_control, before[seat - 1]) - total(time_control, after[seat - 1])
        if not in_time:
            assert after[seat - 1] == ClockState(0.0, 0)
            break
        if time_control.delay_s:
            assert used_up == max(0.0, used_s - time_control.delay_s)
        elif time_control.periods == 0:
            assert used_up == used_s - time_control.increment_s
        else:
            assert 0 <= used_up <= used_s


@given(time_controls, times, times)
def test_the_shown_time_never_grows_while_the_clock_runs(
    time_control: TimeControl, sooner: float, more: float
) -> None:
    clock = Clock(time_control)
    clock.start(2, 0.0)
    early, late = clock.clock_states(sooner), clock.clock_states(sooner + more)
    assert total(time_control, late[1]) <= total(time_control, early[1])
    full = ClockState(time_control.main_s, time_control.periods, time_control.delay_s)
    assert early[0] == late[0] == full


@given(time_controls, st.lists(lengths, max_size=5), times)
def test_the_flag_falls_when_a_move_is_too_late(
    time_control: TimeControl, thinking: list[float], used_s: float
) -> None:
    clock, now = Clock(time_control), 0.0
    for each_s in thinking:
        clock.start(1, now)
        now += each_s
        if not clock.stop(now):
            break
    clock.start(1, now)
    flag_at = clock.flag_at()
    assert flag_at is not None
    assert clock.stop(now + used_s) is (now + used_s <= flag_at)


@pytest.mark.parametrize(
    ("text", "used_s", "left"),
    [
        ("30/move", 0.0, ClockState(0.0, 1)),
        ("30/move", 29.0, ClockState(1.0, 0)),
        ("600+5x30", 10.0, ClockState(590.0, 5)),
        ("600+5x30", 610.0, ClockState(20.0, 4)),
        ("300+3", 301.0, ClockState(0.0, 0)),
        ("120d12", 5.0, ClockState(120.0, 0, 7.0)),
        ("120d12", 15.0, ClockState(117.0, 0)),
        ("120d12", 140.0, ClockState(0.0, 0)),
    ],
)
def test_the_rest_of_a_running_period_is_shown(text: str, used_s: float, left: ClockState) -> None:
    """Main time and whole periods together are the time that is left for this move."""
    time_control = parse_time_control(text)
    assert time_control is not None
    clock = Clock(time_control)
    clock.start(1, 100.0)
    assert clock.clock_states(100.0 + used_s)[0] == left
