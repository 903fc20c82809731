"""Delays of the event loop: measured twice a second, and logged when the whole process stalled.

A long task delays every client; a stall stops the clocks: see `playout.server.runtime.reactor`.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from twisted.logger import Logger

from playout.server.runtime.scheduler import CallScheduler

#: Seconds between two measurements.
EVERY_S = 0.5
#: The shortest stall that is logged, and the shortest time from one log line to the next.
LOGGED_S, PAUSE_S = 0.05, 1.0

_log = Logger(namespace="server")


class DelayMeter:
    """Schedules a call twice a second, and observes how many seconds late each is made."""

    def __init__(
        self,
        timer: CallScheduler,
        observe: Callable[[float], None],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`observe` is given the delay of each call in seconds; `now` returns the time."""
        self._timer = timer
        self._observe = observe
        self._now = now
        self._due = 0.0

    def start(self) -> None:
        """Measure until the reactor stops."""
        self._due = self._now() + EVERY_S
        self._timer.callLater(EVERY_S, self._called)

    def _called(self) -> None:
        self._observe(max(0.0, self._now() - self._due))
        self.start()


class StallLog:
    """Logs stalls of the event loop, with at most one line a second."""

    def __init__(self, now: Callable[[], float]) -> None:
        """`now` returns the time in seconds, including stalls."""
        self._now = now
        self._next_at = float("-inf")
        self._stalls = 0
        self._seconds = 0.0

    def stalled(self, seconds: float) -> None:
        """Log a stall, together with those since the last line; leave out a short one."""
        if seconds < LOGGED_S:
            return
        self._stalls += 1
        self._seconds += seconds
        at = self._now()
        if at >= self._next_at:
            self._next_at = at + PAUSE_S
            text = (
                "the server stalled for {seconds:.2f} s ({stalls} times): it was stopped, or the "
            )
            text += "machine was paused or overloaded; all clocks were stopped meanwhile"
            _log.warn(text, seconds=self._seconds, stalls=self._stalls)
            self._stalls, self._seconds = 0, 0.0
