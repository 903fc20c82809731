"""How much random tests do: little, all with `--slow`, and as long as you like with `--soak`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

#: Set by conftest.py from the option `--slow`, before any test module is imported.
slow = False
#: Seconds of the option `--soak`, which the tests in tests/soak share; 0 without it.
soak_s = 0.0
#: Whether commands are started as a user starts them, by `--real-starts`.
real_starts = False


def repetitions(full: int, *, short: int) -> int:
    """Returns `full` under `scripts/test --slow`, and `short` in the usual suite."""
    return full if slow else short


def sample(whole: Sequence[T], *, short: int) -> Sequence[T]:
    """Returns `whole` under `--slow`, otherwise about `short` elements at equal distances."""
    return whole if slow else whole[:: max(1, len(whole) // short)]
