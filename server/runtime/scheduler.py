"""Schedules calls for the end of an iteration of the loop and for idle time; measures delays.

A long task delays every client; a stall stops the clocks: see `playout.server.runtime.reactor`.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Any, Protocol

from twisted.logger import Logger

#: Seconds of idle work in each iteration, rarely exceeded: moves wait for it.
SLICE_S = 0.0005
#: Longest time in seconds that idle work is postponed while it is on hold.
HOLD_S = 0.002


class DelayedCall(Protocol):
    """A call that was scheduled with a `CallScheduler`."""

    def active(self) -> bool:
        """Return whether it is still to be made."""

    def cancel(self) -> None:
        """Cancel the call, which must be active."""


class CallScheduler(Protocol):
    """Schedules calls: the part of Twisted's reactor that its users here need."""

    def callLater(self, delay: float, function: Callable[[], None], /) -> DelayedCall:
        """Call the function after `delay` seconds."""


class LoopScheduler:
    """Makes calls at the end of an iteration of the loop, or in idle time.

    Output collected until the end of an iteration wakes a waiting peer once: on a machine with a
    core to spare, waking it costs more than sending to it. Output to thousands, such as spectators,
    is idle work: it has a slice of each iteration, after everything else, but not while records
    wait for the storage process, which may need this one's core.
    """

    def __init__(self, timer: Any) -> None:
        """`timer` is Twisted's reactor, or a clock with its `callLater`."""
        self._timer = timer
        self._due: list[Callable[[], None]] = []
        self._waiting: deque[Callable[[], object]] = deque()
        self._held = False
        #: When the last slice ended, and the call that makes the next one.
        self._over_at = 0.0
        self._next: Any = None

    def later(self, seconds: float, call: Callable[[], None]) -> DelayedCall:
        """Call the function after some seconds."""
        delayed: DelayedCall = self._timer.callLater(seconds, call)
        return delayed

    def end_of_iteration(self, call: Callable[[], None]) -> None:
        """Call the function at the end of this iteration."""
        if not self._due:
            self._timer.callLater(0, self._end)
        self._due.append(call)

    def when_idle(self, call: Callable[[], object]) -> None:
        """Call the function in idle time, after earlier ones; repeat it while it returns True."""
        if not self._waiting:
            self._next = self._timer.callLater(0, self._slice)
        self._waiting.append(call)

    def hold(self) -> None:
        """Postpone idle work until `release`, at most for `HOLD_S` at a time."""
        self._held = True

    def release(self) -> None:
        """Let idle work run again."""
        self._held = False
        if self._next and self._next.active():
            self._next.reset(0)

    def _end(self) -> None:
        due, self._due = self._due, []
        for call in due:
            call()

    def _slice(self) -> None:
        self._end()
        began = perf_counter()
        wait_s = self._over_at + HOLD_S - began if self._held else 0.0
        if wait_s > 0:
            self._next = self._timer.callLater(wait_s, self._slice)
            return
        waiting = self._waiting
        try:
            while waiting and perf_counter() < began + SLICE_S:
                call = waiting.popleft()
                if call() is True:
                    waiting.appendleft(call)
        finally:
            self._over_at = perf_counter()
            if waiting:
                self._next = self._timer.callLater(0, self._slice)


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
