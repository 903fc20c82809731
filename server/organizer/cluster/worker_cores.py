"""The processor cores of a worker: core sets get cores of their own where the worker has some.

A process runs on the cores of the thread that started it. Left alone, the system wakes the player
to move now and then on a core where a player of another match is thinking.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

from distributed import Worker

from server.organizer.affinity import assign

_taken: set[int] = set()
_lock = threading.Lock()
#: Whether the system can keep threads to cores.
_IS_POSSIBLE = hasattr(os, "sched_setaffinity")


@contextlib.contextmanager
def kept_to_cores(number: int, threads: int) -> Iterator[None]:
    """Keep this thread, and the processes that it starts, to that many free cores of the worker.

    Only if the worker has as many cores as threads: otherwise others may use them, too.
    """
    mine = _take(number, threads)
    if mine:
        os.sched_setaffinity(0, mine)
    try:
        yield
    finally:
        if mine:
            os.sched_setaffinity(0, os.sched_getaffinity(os.getpid()))
            with _lock:
                _taken.difference_update(mine)


async def keep_to_one(dask_worker: Worker) -> None:
    """Keep a worker of a cluster on this machine to one core, by its number."""
    if _IS_POSSIBLE:
        cores = sorted(os.sched_getaffinity(os.getpid()))
        assign(os.getpid(), {cores[int(dask_worker.name) % len(cores)]})


def _take(number: int, threads: int) -> set[int]:
    """Take free cores; none if there are too few, or if they may not be the worker's own."""
    if not _IS_POSSIBLE:
        return set()
    usable = os.sched_getaffinity(os.getpid())
    with _lock:
        free = sorted(usable - _taken)[:number]
        if len(usable) != threads or len(free) < number:
            return set()
        _taken.update(free)
    return set(free)
