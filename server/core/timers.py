"""When something has to be looked at again: one time per key, cheap to postpone."""

from __future__ import annotations

import heapq

#: Entries of the heap that nobody waits for any more, beyond as many as are waited for.
_STALE = 100


class Timers:
    """Times by key. Postponing does not touch the heap; an entry is checked when it comes up."""

    def __init__(self) -> None:
        self._wanted: dict[str, float] = {}
        self._queued: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []

    def set(self, key: str, at: float | None) -> None:
        """Ring for `key` at that time instead of any other; None for never."""
        if at is None:
            self._wanted.pop(key, None)
        else:
            self._wanted[key] = at
            if at < self._queued.get(key, float("inf")):
                self._queue(key, at)
        if len(self._heap) > 2 * len(self._wanted) + _STALE:
            self._rebuild()

    def wanted(self, key: str) -> float:
        """When it will ring for `key`; infinity for never."""
        return self._wanted.get(key, float("inf"))

    def due(self, now: float) -> list[str]:
        """The keys whose time has come; each rings once."""
        ringing = []
        while self._heap and self._heap[0][0] <= now:
            at, key = heapq.heappop(self._heap)
            if self._queued.get(key) != at:
                continue
            del self._queued[key]
            wanted = self._wanted.get(key)
            if wanted is None:
                continue
            if wanted <= now:
                del self._wanted[key]
                ringing.append(key)
            else:
                self._queue(key, wanted)
        return ringing

    def next(self) -> float | None:
        """When to call `due` next, at the latest."""
        return self._heap[0][0] if self._heap else None

    def _rebuild(self) -> None:
        self._queued = dict(self._wanted)
        self._heap = [(at, key) for key, at in self._wanted.items()]
        heapq.heapify(self._heap)

    def _queue(self, key: str, at: float) -> None:
        self._queued[key] = at
        heapq.heappush(self._heap, (at, key))
