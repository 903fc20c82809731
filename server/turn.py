"""The end of a turn of the reactor's loop, when all that came in has been heard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Turn:
    """Has things done once, after everything that the loop does now.

    A peer that waits is woken once for all that it is told in a turn: on a machine with a core to
    spare, waking it costs more than telling it.
    """

    def __init__(self, timer: Any) -> None:
        """`timer` is Twisted's reactor."""
        self._timer = timer
        self._due: list[Callable[[], None]] = []

    def at_its_end(self, call: Callable[[], None]) -> None:
        """Call it then."""
        if not self._due:
            self._timer.callLater(0, self._end)
        self._due.append(call)

    def _end(self) -> None:
        due, self._due = self._due, []
        for call in due:
            call()
