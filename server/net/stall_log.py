"""Log lines about stalls of the event loop: see `playout.server.runtime.reactor`."""

from __future__ import annotations

from collections.abc import Callable

from twisted.logger import Logger

#: The shortest stall that is logged, and the shortest time from one log line to the next.
LOGGED_S, PAUSE_S = 0.05, 1.0

_log = Logger(namespace="server")


class StallLog:
    """Logs stalls of the event loop, with at most one line a second."""

    def __init__(self, now: Callable[[], float]) -> None:
        """`now` returns the time in seconds, which goes on during a stall."""
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
                "the server stood still for {seconds:.2f} s ({stalls} times): it was stopped, or "
            )
            text += "the machine was paused or overloaded; all clocks stood still with it"
            _log.warn(text, seconds=self._seconds, stalls=self._stalls)
            self._stalls, self._seconds = 0, 0.0
