"""Timers of the hub, which are cheap to postpone, and a queue of jobs that are done in slices."""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Iterator

#: Outdated heap entries that are kept, in addition to the number of pending timers.
_STALE = 100

_NEVER = float("inf")


class Timer:
    """A callback, and the one time at which it is due. Made by `Timers.new`."""

    __slots__ = ("_timers", "call", "due_at", "is_due", "queued_at")

    def __init__(self, timers: Timers, call: Callable[[float], None]) -> None:
        self._timers = timers
        #: Called with the time, when it is due.
        self.call = call
        #: When the callback is due, infinity while the timer is not set.
        self.due_at = _NEVER
        #: The time of its valid heap entry, infinity without one.
        self.queued_at = _NEVER
        #: Whether it is due, and the callback was not called yet.
        self.is_due = False

    def set(self, at: float | None) -> None:
        """Call back at `at` instead of any other time; None stops the timer."""
        if at is None:
            self.stop()
            return
        self.due_at = at
        self.is_due = False
        self._timers.pending.add(self)
        if at < self.queued_at:
            self._timers.queue(self)

    def stop(self) -> None:
        """Do not call back until it is set again."""
        self.due_at = _NEVER
        self.is_due = False
        self._timers.pending.discard(self)


class Timers:
    """All timers of a hub.

    Postponing a timer does not change the heap: an entry is checked when its time comes.
    """

    def __init__(self) -> None:
        #: The timers that are set.
        self.pending: set[Timer] = set()
        self._heap: list[tuple[float, int, Timer]] = []
        self._numbers = itertools.count()

    def new(self, call: Callable[[float], None]) -> Timer:
        """A timer that is not set yet and will call `call(now)`."""
        return Timer(self, call)

    def queue(self, timer: Timer) -> None:
        """Add a heap entry for the timer's `due_at`."""
        if len(self._heap) > 2 * len(self.pending) + _STALE:
            self._drop_stale()
        timer.queued_at = timer.due_at
        heapq.heappush(self._heap, (timer.due_at, next(self._numbers), timer))

    def due(self, now: float) -> Iterator[Timer]:
        """The timers that are due, earliest first; they are no longer pending.

        A timer that is stopped or set anew before its turn is left out.
        """
        for timer in self._take_due(now):
            if timer.is_due:
                timer.is_due = False
                yield timer

    def next(self) -> float | None:
        """The latest time for the next call of `due`; None for never."""
        return self._heap[0][0] if self._heap else None

    def __len__(self) -> int:
        return len(self.pending)

    def _take_due(self, now: float) -> list[Timer]:
        taken: list[Timer] = []
        while self._heap and self._heap[0][0] <= now:  # `queue` may replace the heap
            at, _, timer = heapq.heappop(self._heap)
            if timer.queued_at != at:
                continue
            timer.queued_at = _NEVER
            if timer.due_at <= now:
                timer.due_at = _NEVER
                self.pending.discard(timer)
                timer.is_due = True
                taken.append(timer)
            elif timer.due_at < _NEVER:
                self.queue(timer)
        return taken

    def _drop_stale(self) -> None:
        for _, _, timer in self._heap:
            timer.queued_at = _NEVER
        self._heap = [(timer.due_at, next(self._numbers), timer) for timer in self.pending]
        heapq.heapify(self._heap)
        for timer in self.pending:
            timer.queued_at = timer.due_at


# Jobs that take longer than a request may, done in slices.
#
# Between two slices the hub handles requests and other timers.


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
        """Do all slices of a job later."""
        self._waiting.append(job)
        self._set_timer(now)

    def start(self, job: Slice, now: float) -> None:
        """Do the first slice of a job at once, and the rest later."""
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
