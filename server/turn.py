"""The end of a turn of the reactor's loop, when all that came in has been heard, and after it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Any

#: Of each turn, what is done at leisure takes so long, and seldom longer: who plays waits for it.
SLICE_S = 0.0005


class Turn:
    """Has things done once, after everything that the loop does now.

    A peer that waits is woken once for all that it is told in a turn: on a machine with a core to
    spare, waking it costs more than telling it. Where thousands are told, as are those who watch,
    it is done at leisure: a slice in each turn, when all else has been done.
    """

    def __init__(self, timer: Any) -> None:
        """`timer` is Twisted's reactor."""
        self._timer = timer
        self._due: list[Callable[[], None]] = []
        self._waiting: deque[Callable[[], None]] = deque()

    def at_its_end(self, call: Callable[[], None]) -> None:
        """Call it then."""
        if not self._due:
            self._timer.callLater(0, self._end)
        self._due.append(call)

    def at_leisure(self, call: Callable[[], None]) -> None:
        """Call it in this turn or a later one, after those that came before it."""
        if not self._waiting:
            self._timer.callLater(0, self._slice)
        self._waiting.append(call)

    def _end(self) -> None:
        due, self._due = self._due, []
        for call in due:
            call()

    def _slice(self) -> None:
        self._end()
        until = perf_counter() + SLICE_S
        waiting = self._waiting
        try:
            while waiting and perf_counter() < until:
                waiting.popleft()()
        finally:
            if waiting:
                self._timer.callLater(0, self._slice)
