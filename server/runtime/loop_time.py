"""The time of the event loop, which stands still while the loop does.

A process that is stopped, a machine that is paused, or a request that takes seconds must not take
time from players. So the clocks of matches follow this time instead of the system's: it advances
with the system's monotonic clock, but from one iteration of the loop to the next by no more than
the loop meant to wait, and `STEP_S`. The rest is a stall. It is noticed when the loop wakes, before
any input is handled and before any timer fires.

While matches are played the loop wakes at least every `TICK_S`, so that a stall is told from a wait
even if a message ends both.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

#: Longest wait of the loop while matches are played. A waiting server with a match takes 1.7 % of a
#: core with it, and 2.6 % with half of it.
TICK_S = 0.01
#: Seconds that handling the events of an iteration may take before the rest counts as a stall.
STEP_S = 0.005


class LoopTime:
    """Seconds in which the event loop runs, on the scale of `time.monotonic` at its start."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        """`monotonic` returns the system's time. Before the first `wait` it is the loop's too."""
        self.monotonic = monotonic
        self._must_tick: Callable[[], bool] = lambda: False
        self._stalled: Callable[[float], None] = lambda seconds: None
        #: When the loop woke last: by the system's time and by the loop's.
        self._woke_at = self._time = monotonic()
        self._arrived = self._time
        #: Seconds that an iteration may last until it wakes, and until then `now` may advance by.
        self._allowed_s = self._step_s = math.inf

    def watch(self, must_tick: Callable[[], bool], stalled: Callable[[float], None]) -> None:
        """Wake every `TICK_S` while `must_tick`, and report the seconds of each stall."""
        self._must_tick = must_tick
        self._stalled = stalled

    def now(self) -> float:
        """Return the present time in seconds."""
        return self._time + min(self.monotonic() - self._woke_at, self._step_s)

    def arrived(self) -> float:
        """Return when the input that is handled now had arrived, in seconds, at the earliest.

        That is when the loop woke; after a stall it is when the loop woke before.
        """
        return self._arrived if self._step_s < math.inf else self.now()

    def wait(self, timeout: float | None) -> float | None:
        """Return how long the loop may wait, at most `timeout` seconds; None for no limit."""
        if self._step_s == math.inf:
            self._start()
        if (timeout is None or timeout > TICK_S) and self._must_tick():
            timeout = TICK_S
        self._allowed_s = STEP_S + (math.inf if timeout is None else timeout)
        return timeout

    def wake(self) -> None:
        """Note that the loop has waited, before it handles what has come."""
        at = self.monotonic()
        elapsed_s = at - self._woke_at
        self._woke_at = at
        stall_s = elapsed_s - self._allowed_s
        if stall_s <= 0:
            self._time += elapsed_s
            self._arrived = self._time
        else:
            self._arrived = self._time
            self._time += self._allowed_s
            self._stalled(stall_s)

    def _start(self) -> None:
        at = self.monotonic()
        self._time += at - self._woke_at
        self._woke_at = at
        self._step_s = STEP_S
