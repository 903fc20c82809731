"""Cores for matches: the two that play each other take turns, and so can share what one needs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable

from server.model.tournament_spec import TournamentSpec
from server.organizer import estimate
from server.runtime.subprocesses import Process


class Cores:
    """Gives each match that is played cores of its own, if the tournament keeps all of them busy.

    Otherwise the system sees to it: somebody else may be using the machine. Left alone, it wakes
    who is to move on the core where another match is being thought about, every now and then.
    """

    def __init__(self, spec: TournamentSpec) -> None:
        self._usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        each = estimate.match_cores(spec)
        shares = [
            self._usable[first : first + each]
            for first in range(0, len(self._usable) - each + 1, each)
        ]
        self._free = shares if len(shares) == spec.concurrency > 1 else []
        self._taken: dict[str, list[int]] = {}
        #: Where processes are, by their ids: the same two often play the next match, too.
        self._kept: dict[int, list[int]] = {}

    def begun(self, match: str, processes: Iterable[Process]) -> None:
        """A match is played by these."""
        if match not in self._taken and self._free:
            self._taken[match] = self._free.pop()
        if share := self._taken.get(match):
            for process in processes:
                if self._kept.get(process.pid) != share:
                    self._kept[process.pid] = share
                    _keep(process, share)

    def ended(self, match: str) -> None:
        """It is over."""
        if share := self._taken.pop(match, None):
            self._free.append(share)


def _keep(process: Process, cores: Iterable[int]) -> None:
    """All threads of a process on some cores; those that it starts will be there, too."""
    with contextlib.suppress(OSError):  # it may have ended, or be somebody else's by now
        for thread in os.listdir(f"/proc/{process.pid}/task"):
            os.sched_setaffinity(int(thread), cores)
