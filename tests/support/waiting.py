"""Waits for a condition, instead of sleeping for a fixed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

#: Long enough for a machine whose cores are busy with other processes.
PATIENCE_S = 200.0
#: Pause between two evaluations of a condition.
PAUSE_S = 0.02


def wait_until(condition: Callable[[], T], what: str = "", seconds: float = PATIENCE_S) -> T:
    """Returns the first true value of a condition; raises AssertionError after some seconds.

    The limit only ends a test that hangs: no result of a test depends on the speed of the machine.
    """
    give_up_at = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < give_up_at, (
            f"waited {seconds:g} s without success for {what or condition}"
        )
        time.sleep(PAUSE_S)
    return found


class Stopwatch:
    """Measures how long something took, for tests of clocks that run out in another process."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def seconds(self) -> float:
        """Returns the seconds since it was made."""
        return time.monotonic() - self._began
