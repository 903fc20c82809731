"""How late the event loop is: what keeps it busy keeps everybody waiting."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from server.net.driver import Timer

EVERY_S = 0.5


class DelayMeter:
    """Asks to be called twice a second, and observes how many seconds late that comes."""

    def __init__(
        self,
        timer: Timer,
        observe: Callable[[float], None],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
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
