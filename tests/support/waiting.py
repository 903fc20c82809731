"""Waits for a condition, instead of sleeping for a fixed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

#: Long enough for a machine whose cores are busy with other processes.
PATIENCE_S = 200.0
#: Shortest and longest pause between two evaluations of a condition, each of which may be a request
#: to a server. Without the longer ones, many waiting tests kept a core busy.
PAUSE_S, LONGEST_PAUSE_S = 0.02, 0.1


def wait_until(condition: Callable[[], T], what: str = "", seconds: float = PATIENCE_S) -> T:
    """Returns the first true value of a condition; raises AssertionError after some seconds.

    The limit only ends a test that hangs: no result of a test depends on the speed of the machine.
    """
    began = time.monotonic()
    while not (found := condition()):
        waited_s = time.monotonic() - began
        assert waited_s < seconds, f"waited {seconds:g} s without success for {what or condition}"
        time.sleep(min(max(PAUSE_S, waited_s / 20), LONGEST_PAUSE_S))
    return found


class Stopwatch:
    """Measures how long something took, for tests of clocks that run out in another process."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def seconds(self) -> float:
        """Returns the seconds since it was made."""
        return time.monotonic() - self._began
