"""Processor cores: counts, describes and assigns them, and restricts threads to them.

The players of a match take turns and can share cores. Without an assignment, the system sometimes
wakes the player to move on a core where a player of another match is thinking.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import threading
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from importlib.metadata import version
from pathlib import Path

from playout.commands.text import counted, plain

#: Whether the system can restrict threads to cores.
_IS_POSSIBLE = hasattr(os, "sched_setaffinity")

_MODEL = re.compile(r"^model name\s*: (.+)$", re.MULTILINE)


def usable_cores() -> int:
    """Return how many cores this process may use, at least 1."""
    return len(os.sched_getaffinity(0)) if _IS_POSSIBLE else os.cpu_count() or 1


class Cores:
    """Assigns the cores of this process to users, such as matches.

    Its methods may be called in any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users: Counter[int] = Counter()
        #: The cores of each user, and how often they were taken.
        self._taken: dict[object, tuple[Collection[int], int]] = {}

    @property
    def usable(self) -> Collection[int]:
        """The cores of this process; none if the system cannot restrict threads to cores."""
        return os.sched_getaffinity(os.getpid()) if _IS_POSSIBLE else ()

    def take(self, user: object, number: int, *, shared: bool = True) -> Collection[int]:
        """Return `number` cores for a user: those with the fewest users.

        A user that takes cores again gets the same ones. Without `shared`, a user gets no cores if
        fewer are free.
        """
        with self._lock:
            cores, times = self._taken.get(user, ((), 0))
            if not times:
                in_order = sorted(self.usable, key=lambda core: (self._users[core], core))
                cores = in_order[:number]
                if not shared and (len(cores) < number or any(self._users[each] for each in cores)):
                    cores = ()
                self._users.update(cores)
            self._taken[user] = cores, times + 1
        return cores

    def give_back(self, user: object) -> None:
        """Free the cores of a user that has given them back as often as it has taken them."""
        with self._lock:
            cores, times = self._taken.pop(user)
            if times > 1:
                self._taken[user] = cores, times - 1
            else:
                self._users.subtract(cores)


@contextlib.contextmanager
def kept_to(cores: Collection[int]) -> Iterator[None]:
    """Restrict this thread, and the processes that it starts, to some cores within the block.

    Without cores, it is not restricted.
    """
    if not cores:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def move(process: int, cores: Iterable[int]) -> None:
    """Move all threads of a process to some cores, which later threads inherit."""
    threads: list[str] = []
    with contextlib.suppress(OSError):  # it may have exited, and its id may be reused
        threads = os.listdir(f"/proc/{process}/task")
    for thread in threads:
        with contextlib.suppress(OSError):  # it may have ended, and the others have not
            os.sched_setaffinity(int(thread), cores)


def machine() -> str:
    """Return the processor, the cores, the system, and the versions of Python and Playout."""
    parts = (
        processor(),
        counted(usable_cores(), "core"),
        f"{platform.system()} {platform.release()}",
        f"Python {platform.python_version()}",
        f"Playout {version('playout')}",
    )
    return plain(", ".join(filter(None, parts)))


def processor() -> str:
    """Return the name of the processor, or its architecture."""
    with contextlib.suppress(OSError):
        if found := _MODEL.search(Path("/proc/cpuinfo").read_text(encoding="utf-8")):
            return " ".join(found[1].split())
    return platform.processor() or platform.machine()
