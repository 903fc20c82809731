"""The end of a turn of the reactor's loop, when all that came in has been heard, and after it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Any

#: Of each turn, what is done at leisure takes so long, and seldom longer: who plays waits for it.
SLICE_S = 0.0005
#: It is put off for so long at most, and then has its slice.
HOLD_S = 0.002


class LoopScheduler:
    """Has things done once, after everything that the loop does now.

    A peer that waits is woken once for all that it is told in a turn: on a machine with a core to
    spare, waking it costs more than telling it. Where thousands are told, as are those who watch,
    it is done at leisure: a slice in each turn, when all else has been done, and not while others
    wait for another process, which may need this one's core.
    """

    def __init__(self, timer: Any) -> None:
        """`timer` is Twisted's reactor."""
        self._timer = timer
        self._due: list[Callable[[], None]] = []
        self._waiting: deque[Callable[[], object]] = deque()
        self._held = False
        #: When the last slice was over, and the call that makes the next one.
        self._over_at = 0.0
        self._next: Any = None

    def end_of_iteration(self, call: Callable[[], None]) -> None:
        """Call the function at the end of this iteration."""
        if not self._due:
            self._timer.callLater(0, self._end)
        self._due.append(call)

    def when_idle(self, call: Callable[[], object]) -> None:
        """Call it in this turn or a later one, after those before; again if it returns True."""
        if not self._waiting:
            self._next = self._timer.callLater(0, self._slice)
        self._waiting.append(call)

    def hold(self) -> None:
        """There is no leisure until `release`, or for long."""
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
