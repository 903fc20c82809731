"""The clock of a match: the remaining time of two players.

The current time is a parameter, `now`, in seconds on any scale whose values never decrease. The
notation of time controls is in protocol/time_control.py.
"""

from __future__ import annotations

import math

from playout.protocol.messages import ClockState, TimeControl


class Clock:
    """Two players' remaining time; it runs for one of them at most."""

    def __init__(self, time_control: TimeControl, second: TimeControl | None = None) -> None:
        """`second`: the time control of the second player; by default the same."""
        self._controls = {1: time_control, 2: second or time_control}
        self._left = _at_first(self._controls[1]), _at_first(self._controls[2])
        self._running = 0
        self._since = 0.0

    def start(self, seat: int, now: float) -> None:
        """Start the clock of `seat`."""
        self._running, self._since = seat, now

    def stop(self, now: float, credit_s: float = 0.0) -> bool:
        """Stop the running clock after a move; return False if the time was already up.

        `credit_s`: transmission time of the move, in seconds, which is not counted.
        """
        seat = self._running
        control = self._controls[seat]
        first, second = self._left
        used_s = max(0.0, now - credit_s - self._since)
        after = _after(control, first if seat == 1 else second, used_s)
        left = ClockState(0.0, 0)
        if after:
            main_s = after.main_s + control.increment_s
            left = ClockState(main_s, after.periods, control.delay_s)
        self._running = 0
        self._left = (left, second) if seat == 1 else (first, left)
        return after is not None

    def halt(self) -> None:
        """Stop the running clock; no increment is added."""
        self._running = 0

    def set(self, left: tuple[ClockState, ClockState]) -> None:
        """Set the remaining time of both players at the beginning of a turn, and stop the clock."""
        self._running = 0
        first, second = (
            ClockState(each.main_s, each.periods, self._controls[seat].delay_s)
            for seat, each in enumerate(left, start=1)
        )
        self._left = first, second

    def clock_states(self, now: float) -> tuple[ClockState, ClockState]:
        """The remaining time of both players at `now`."""
        if not self._running or now <= self._since:  # asked three times for each move
            return self._left
        first, second = self._left
        if self._running == 1:
            return self._remaining(first, now), second
        return first, self._remaining(second, now)

    def flag_at(self) -> float | None:
        """The time at which the running player's time is up; None if no clock runs."""
        if not self._running:
            return None
        left = self._left[self._running - 1]
        periods_s = left.periods * self._controls[self._running].period_s
        return self._since + left.delay_s + left.main_s + periods_s

    def _remaining(self, left: ClockState, now: float) -> ClockState:
        """The rest of `left` that the running player has at `now`."""
        used_s = now - self._since - left.delay_s
        if used_s < 0:
            return ClockState(left.main_s, left.periods, -used_s)
        if used_s <= left.main_s:
            return ClockState(left.main_s - used_s, left.periods)
        # A period that has begun is not whole: the rest of it counts as main time.
        period_s = self._controls[self._running].period_s
        total_s = max(0.0, left.main_s + left.periods * period_s - used_s)
        whole = int(total_s / period_s) if period_s else 0
        return ClockState(total_s - whole * period_s, whole)


def _at_first(control: TimeControl) -> ClockState:
    return ClockState(control.main_s, control.periods, control.delay_s)


def _after(control: TimeControl, left: ClockState, used_s: float) -> ClockState | None:
    """The remaining time after a move of `used_s` seconds; None if that exceeds it."""
    used_s = max(0.0, used_s - left.delay_s)
    if used_s <= left.main_s:
        return ClockState(left.main_s - used_s, left.periods) if used_s else left
    over_s = used_s - left.main_s
    if over_s > left.periods * control.period_s:
        return None
    # A move that takes exactly one period keeps it; the last period stays despite rounding.
    begun = min(left.periods, math.ceil(over_s / control.period_s))
    return ClockState(0.0, left.periods - begun + 1)
