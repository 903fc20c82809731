"""The time of the event loop: it stops during stalls, and only then."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playout.protocol.messages import Ping, Pong
from playout.protocol.time_control import parse_time_control
from playout.server.core.clock import Clock
from playout.server.runtime.reactor import STEP_S, TICK_S, LoopTime
from playout.server.runtime.scheduler import LOGGED_S, PAUSE_S, StallLog
from support.hub_harness import HubHarness

#: A delay of the loop that is too short to count as a stall.
UNNOTICED_S = TICK_S + STEP_S


class Machine:
    """A server's loop on a machine whose time the test sets; it ticks, as while matches run."""

    def __init__(self) -> None:
        self.at = 100.0
        self.stalls: list[float] = []
        self.time = LoopTime(lambda: self.at)
        self.time.watch(lambda: True, self.stalls.append)

    def wait(self, seconds: float, timeout: float | None = None) -> float | None:
        """Wait for events, and wake after `seconds`; return the longest wait."""
        longest = self.time.wait(timeout)
        self.at += seconds
        self.time.wake()
        return longest


def test_without_stalls_it_is_the_time_of_the_system() -> None:
    machine = Machine()
    for seconds in (0.0, TICK_S, 0.001, UNNOTICED_S - 0.001):
        machine.wait(seconds)
        assert machine.time.now() == machine.time.arrived() == pytest.approx(machine.at)
    assert machine.stalls == []


def test_the_loop_wakes_often_while_matches_are_played() -> None:
    machine = Machine()
    assert machine.wait(0.0) == TICK_S
    assert machine.wait(0.0, 1.0) == TICK_S
    assert machine.wait(0.0, 0.001) == 0.001
    machine.time.watch(lambda: False, machine.stalls.append)
    assert machine.wait(3600.0) is None
    assert machine.wait(0.9, 1.0) == 1.0
    assert machine.stalls == []


def test_input_that_came_during_a_stall_is_judged_by_the_time_before() -> None:
    machine = Machine()
    machine.wait(0.0)
    before = machine.time.now()
    machine.wait(5.0)
    assert machine.time.arrived() == before
    assert machine.time.now() == pytest.approx(before + UNNOTICED_S)
    assert machine.stalls == [pytest.approx(5.0 - UNNOTICED_S)]


def test_a_request_that_takes_long_is_a_stall_for_those_after_it() -> None:
    machine = Machine()
    machine.wait(0.0)
    arrived = machine.time.arrived()
    machine.at += 7.0
    assert machine.time.arrived() == arrived, "it had come with the long one"
    assert machine.time.now() == pytest.approx(arrived + STEP_S), "so no timer is due"
    machine.wait(0.0)
    assert machine.time.arrived() == arrived
    assert machine.stalls == [pytest.approx(7.0 - UNNOTICED_S)]


def test_time_before_the_loop_runs_is_no_stall() -> None:
    machine = Machine()
    machine.at += 60.0
    assert machine.time.now() == machine.time.arrived() == machine.at
    machine.wait(0.0)
    assert machine.time.now() == machine.at
    assert machine.stalls == []


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.001, 0.004]), st.floats(0, 6)), max_size=8),
    st.floats(0, 0.5),
)
def test_a_stall_takes_no_time_from_players_and_gives_them_none(
    steps: Sequence[tuple[float, float]], think_s: float
) -> None:
    """Each step of the loop waits, then handles events for some seconds: a stall, if many."""
    machine, clock = Machine(), Clock(parse_time_control("60+0") or pytest.fail("no clock"))
    machine.wait(0.0)
    clock.start(1, machine.time.now())
    answers_at = machine.at + think_s
    ends = iter(steps)
    while machine.at < answers_at:
        waited_s, busy_s = next(ends, (TICK_S, 0.0))
        machine.wait(min(waited_s, answers_at - machine.at))
        machine.at += busy_s
    machine.wait(0.0)
    assert clock.stop(machine.time.arrived())
    charged_s = 60.0 - clock.clock_states(0.0)[0].main_s
    assert charged_s <= think_s + UNNOTICED_S + 1e-6
    credited_s = sum(machine.stalls) + (len(machine.stalls) + 1) * UNNOTICED_S
    assert charged_s >= think_s - credited_s - 1e-6


@given(st.floats(UNNOTICED_S, 60.0, exclude_min=True), st.floats(0.0, TICK_S))
def test_an_answer_during_a_stall_is_never_charged_more_than_it_took(
    stall_s: float, think_s: float
) -> None:
    machine, clock = Machine(), Clock(parse_time_control("0.05/move") or pytest.fail("no clock"))
    machine.wait(0.0)
    machine.at += think_s
    clock.start(1, machine.time.now())
    machine.wait(stall_s)
    assert clock.stop(machine.time.arrived())
    assert clock.clock_states(0.0)[0].periods == 1


def test_the_time_of_day_advances_during_a_stall() -> None:
    harness = HubHarness(messages_per_s=1)
    ann = harness.client("Ann")
    for _ in range(3):
        ann.ask(Ping(), Pong)
    harness.hub.stalled(100.0)
    for _ in range(4):
        ann.ask(Ping(), Pong)  # as many as in a burst: tokens came during the stall


def test_stalls_are_logged_with_at_most_one_line_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines: list[tuple[float, int]] = []

    class RecordingLog:
        def warn(self, text: str, *, seconds: float, stalls: int) -> None:
            lines.append((seconds, stalls))

    monkeypatch.setattr("playout.server.runtime.scheduler._log", RecordingLog())
    at = 0.0
    log = StallLog(lambda: at)
    log.stalled(LOGGED_S / 2)
    assert lines == []
    log.stalled(0.5)
    log.stalled(0.25)
    log.stalled(0.25)
    assert lines == [(0.5, 1)]
    at += PAUSE_S
    log.stalled(1.0)
    assert lines == [(0.5, 1), (1.5, 3)]
