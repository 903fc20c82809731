"""Gives each match processor cores of its own, on which both bots run: they take turns.

A bot runs on the cores of the thread that has started it, and the sandbox lets it choose no others.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import Counter
from collections.abc import Iterator, Sequence


class MatchCores:
    """The cores of this process, and the matches on each; matches share if there are too few."""

    def __init__(self) -> None:
        self._usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        self._lock = threading.Lock()
        self._matches: Counter[int] = Counter()
        #: The cores of each match, and how many bots have them.
        self._taken: dict[str, tuple[Sequence[int], int]] = {}

    def take(self, match: str, number: int) -> Sequence[int]:
        """Return so many cores for a bot of a match: those with the fewest matches."""
        with self._lock:
            cores, bots = self._taken.get(match, ((), 0))
            if not bots:
                cores = sorted(self._usable, key=lambda core: (self._matches[core], core))[:number]
                self._matches.update(cores)
            self._taken[match] = cores, bots + 1
        return cores

    def give(self, match: str) -> None:
        """Free the cores of a match, once both bots have given them back."""
        with self._lock:
            cores, bots = self._taken.pop(match)
            if bots > 1:
                self._taken[match] = cores, bots - 1
            else:
                self._matches.subtract(cores)


@contextlib.contextmanager
def kept_to(cores: Sequence[int]) -> Iterator[None]:
    """Restrict this thread, and what it starts, to some cores until the end of the block."""
    if not cores:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
