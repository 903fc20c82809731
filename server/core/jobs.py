"""Work that takes longer than a request may hold the hub, done a slice at a time.

Between two slices the hub handles requests and other timers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from server.core.timers import Timers

#: Seconds between two slices.
PAUSE_S = 0.001

#: Does a slice of a job, given the time, and returns whether something is left to be done.
Slice = Callable[[float], bool]


class JobQueue:
    """The jobs of a hub, which take turns."""

    def __init__(self, timers: Timers) -> None:
        self._waiting: deque[Slice] = deque()
        self._timer = timers.new(self._work)

    def add(self, job: Slice, now: float) -> None:
        """Does all of a job later."""
        self._waiting.append(job)
        self._set_timer(now)

    def start(self, job: Slice, now: float) -> None:
        """Does the first slice of a job at once, and the rest later."""
        if job(now):
            self._waiting.append(job)
            self._set_timer(now)

    def _work(self, now: float) -> None:
        job = self._waiting.popleft()
        try:
            if job(now):
                self._waiting.append(job)
        finally:
            self._set_timer(now)

    def _set_timer(self, now: float) -> None:
        self._timer.set(now + PAUSE_S if self._waiting else None)
