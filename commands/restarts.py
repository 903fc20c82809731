"""When to start a process again that exited, or to make a connection again that was lost.

The wait grows with each failure in a row, up to a limit, and is short again after a success. Time
comes in as a parameter, so this serves loops of the reactor, threads and tests alike.
"""

from __future__ import annotations

from dataclasses import dataclass

#: No wait grows further after so many failures; a larger exponent would overflow a float.
_LARGEST_EXPONENT = 64


@dataclass(frozen=True)
class BackOff:
    """The wait before each attempt: `first_s`, then `factor` times the last, up to `longest_s`."""

    first_s: float
    longest_s: float
    factor: float = 2.0

    def wait_s(self, failures: int) -> float:
        """The seconds to wait after this number of failures in a row; after 0 as after 1."""
        exponent = min(max(0, failures - 1), _LARGEST_EXPONENT)
        return min(self.longest_s, self.first_s * self.factor**exponent)


class Restarts:
    """Counts the failures in a row of one process, and says when it may be started again."""

    def __init__(self, back_off: BackOff, limit: int | None = None) -> None:
        """After `limit` failures in a row it is `exhausted`; None: never."""
        self.failures = 0
        self._back_off = back_off
        self._limit = limit
        self._due_at: float | None = None

    @property
    def exhausted(self) -> bool:
        """Whether it failed so often in a row that it is not to be started again."""
        return self._limit is not None and self.failures >= self._limit

    def is_due(self, now: float) -> bool:
        """Whether it may be started now: at first, and when the wait after a failure is over."""
        return self._due_at is None or now >= self._due_at

    def failed(self, now: float, *, counts: bool = True) -> float:
        """Note that it failed, and return the seconds to wait before the next start.

        With `counts=False` the failure was not its fault: the wait is as long as after the last
        failure that was, and `failures` stays as it is.
        """
        self.failures += counts
        wait_s = self._back_off.wait_s(self.failures)
        self._due_at = now + wait_s
        return wait_s

    def succeeded(self) -> None:
        """Note that it works: the next failure is the first of a row."""
        self.failures = 0
