"""The processor cores of this machine: assigns them to matches, and describes them for the report.

The two players of a match take turns and can share a core. Without an assignment, the system
sometimes wakes the player to move on a core where a player of another match is thinking.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from playout.commands.subprocesses import Process, usable_cores
from playout.commands.text import counted, plain
from playout.protocol.tournament_spec import TournamentSpec
from playout.server.organizer import estimate
from playout.server.tournament.spec_validation import LONGEST_MACHINE

_MODEL = re.compile(r"^model name\s*: (.+)$", re.MULTILINE)


class Cores:
    """Gives each running match cores of its own, if the tournament keeps all cores busy.

    Otherwise the system chooses: other programs may be using the machine.
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
        #: The cores of each process, by its id: the same two players often play the next match.
        self._assigned: dict[int, list[int]] = {}

    def match_started(self, match: str, processes: Iterable[Process]) -> None:
        """Move the processes that play a match to its cores."""
        if match not in self._taken and self._free:
            self._taken[match] = self._free.pop()
        if share := self._taken.get(match):
            for process in processes:
                if self._assigned.get(process.pid) != share:
                    self._assigned[process.pid] = share
                    assign(process.pid, share)

    def match_ended(self, match: str) -> None:
        """Free the cores of a match for the next one."""
        if share := self._taken.pop(match, None):
            self._free.append(share)


def assign(process: int, cores: Iterable[int]) -> None:
    """Move all threads of a process to some cores, which later threads inherit."""
    threads: list[str] = []
    with contextlib.suppress(OSError):  # it may have exited, and its id may be reused
        threads = os.listdir(f"/proc/{process}/task")
    for thread in threads:
        with contextlib.suppress(OSError):  # it may have ended, and the others have not
            os.sched_setaffinity(int(thread), cores)


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
