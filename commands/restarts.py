"""Pauses before a process is started again, or a lost connection is made again.

The pause grows with each failure in a row, up to a limit, and is short again after a success. Time
is a parameter, so that the reactor's loop, threads and tests can use this alike.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Failures after which no pause grows further; a larger exponent would overflow a float.
_LARGEST_EXPONENT = 64


@dataclass(frozen=True)
class BackOff:
    """The pause before each attempt: `first_s`, then `factor` times the last, up to `longest_s`."""

    first_s: float
    longest_s: float
    factor: float = 2.0

    def wait_s(self, failures: int) -> float:
        """Return the pause after this number of failures in a row; after 0 as after 1."""
        exponent = min(max(0, failures - 1), _LARGEST_EXPONENT)
        return min(self.longest_s, self.first_s * self.factor**exponent)


class Restarts:
    """Counts the failures in a row of one process, and tells when it may be started again."""

    def __init__(self, back_off: BackOff, limit: int | None = None) -> None:
        """After `limit` failures in a row it is `exhausted`; None: never."""
        self.failures = 0
        self._back_off = back_off
        self._limit = limit
        self._due_at: float | None = None

    @property
    def wait_s(self) -> float:
        """The pause after the last failure."""
        return self._back_off.wait_s(self.failures)

    @property
    def exhausted(self) -> bool:
        """Whether it has failed `limit` times in a row, and is not to be started again."""
        return self._limit is not None and self.failures >= self._limit

    def is_due(self, now: float) -> bool:
        """Whether it may be started now: at first, and when the pause after a failure is over."""
        return self._due_at is None or now >= self._due_at

    def failed(self, now: float, *, counts: bool = True) -> float:
        """Note that it failed, and return the pause before the next start.

        With `counts=False` the failure was not its fault: `failures` stays as it is, and the pause
        is that after the last failure that counted.
        """
        self.failures += counts
        self._due_at = now + self.wait_s
        return self.wait_s

    def succeeded(self) -> None:
        """Note that it works: the next failure is the first in a row."""
        self.failures = 0
