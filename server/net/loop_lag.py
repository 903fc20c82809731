"""How late the event loop makes its calls: a long task delays every client."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playout.server.net.driver import CallScheduler

EVERY_S = 0.5


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
