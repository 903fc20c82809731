"""How often tests repeat what they draw at random: few times, or in full with `--slow`."""

from __future__ import annotations

#: Set by conftest.py from the option `--slow`, before any test module is imported.
slow = False


def repetitions(full: int, *, short: int) -> int:
    """Returns `full` under `scripts/test --slow`, and `short` in the usual suite."""
    return full if slow else short
