"""A reactor for code that runs in threads."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any, TypeVar

from twisted.internet.defer import Deferred

T = TypeVar("T")


class Loop:
    """A reactor that runs the calls of threads while the test waits."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._at_the_end: list[Callable[[], None]] = []

    def callWhenRunning(self, call: Callable[[], None]) -> None:
        call()

    def addSystemEventTrigger(self, phase: str, event: str, call: Callable[[], None]) -> None:
        self._at_the_end.append(call)

    def callFromThread(self, call: Callable[..., None], *given: Any, **named: Any) -> None:
        self._calls.put(lambda: call(*given, **named))

    def run_one(self) -> None:
        """Wait for a call of a thread, and run it."""
        self._calls.get(timeout=60)()

    def wait(self, deferred: Deferred[T]) -> T:
        """Wait for a Deferred, and return its result. Raises its failure."""
        found: list[Any] = []
        deferred.addBoth(found.append)
        while not found:
            self.run_one()
        if hasattr(found[0], "raiseException"):
            found[0].raiseException()
        result: T = found[0]
        return result

    def stop(self) -> None:
        for call in self._at_the_end:
            call()
