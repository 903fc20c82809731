"""Schedules calls for the end of an iteration of the reactor's loop, and for idle time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Any, Protocol

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
