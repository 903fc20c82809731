"""Processor cores of this machine: their assignment to matches, and their line in the report."""

from __future__ import annotations

import contextlib
import platform
import re
from collections.abc import Collection, Iterable
from importlib.metadata import version
from pathlib import Path

from playout.commands.child import Child
from playout.commands.cores import Cores, move, usable_cores
from playout.commands.text import counted, plain
from playout.protocol.tournament_spec import TournamentSpec
from playout.server.organizer import estimate
from playout.server.tournament.spec_validation import LONGEST_MACHINE

_MODEL = re.compile(r"^model name\s*: (.+)$", re.MULTILINE)


class TournamentCores:
    """Gives each running match cores of its own, if the tournament keeps all cores busy.

    Otherwise the system chooses: other programs may be using the machine.
    """

    def __init__(self, spec: TournamentSpec) -> None:
        self._cores = Cores()
        each = estimate.match_cores(spec)
        is_busy = len(self._cores.usable) // each == spec.concurrency > 1
        #: The number of cores of a match; 0 leaves the choice to the system.
        self._number = each if is_busy else 0
        self._taken: dict[str, Collection[int]] = {}
        #: The cores of each process, by its id: the same two players often play the next match.
        self._assigned: dict[int, Collection[int]] = {}

    def match_started(self, match: str, processes: Iterable[Child]) -> None:
        """Move the processes that play a match to its cores."""
        if self._number and match not in self._taken:
            self._taken[match] = self._cores.take(match, self._number, shared=False)
        if share := self._taken.get(match):
            for process in processes:
                if self._assigned.get(process.pid) != share:
                    self._assigned[process.pid] = share
                    move(process.pid, share)

    def match_ended(self, match: str) -> None:
        """Free the cores of a match for the next one."""
        if match in self._taken:
            del self._taken[match]
            self._cores.give_back(match)


def description() -> str:
    """Return the processor, the cores, the system, and the versions of Python and Playout."""
    parts = (
        processor(),
        counted(usable_cores(), "core"),
        f"{platform.system()} {platform.release()}",
        f"Python {platform.python_version()}",
        f"Playout {version('playout')}",
    )
    return plain(", ".join(filter(None, parts)))[:LONGEST_MACHINE]


def processor() -> str:
    """Return the name of the processor, or its architecture."""
    with contextlib.suppress(OSError):
        if found := _MODEL.search(Path("/proc/cpuinfo").read_text(encoding="utf-8")):
            return " ".join(found[1].split())
    return platform.processor() or platform.machine()
