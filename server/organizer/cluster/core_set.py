"""A core set: the task on a worker that keeps a process of each entrant running.

It ends when the runner cancels it, when the scheduler has lost the runner, or when the worker has
lost the scheduler. Its processes end with it, or with the worker if that is killed.

A core set gets cores of its own if the worker has enough. A process runs on the cores of the thread
that started it. Otherwise the system sometimes wakes the player to move on a core where a player of
another match is thinking.
"""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from distributed import Worker, get_worker

from playout.cluster import on_worker
from playout.commands.subprocesses import LogFolder
from playout.server.organizer.cluster.job import ClusterJob
from playout.server.organizer.cores import assign
from playout.server.organizer.supervisor import Supervisor, starter

#: Seconds between two polls of the processes, and of whether they are still wanted.
_POLL_INTERVAL_S = 0.2
#: Seconds to wait for an answer of the server after the exit of a process.
_REACH_S = 2.0
#: Whether the system can restrict threads to cores.
_IS_POSSIBLE = hasattr(os, "sched_setaffinity")
#: The cores of this worker that core sets have.
_taken: set[int] = set()
_cores_lock = threading.Lock()
#: The core sets of this worker, to which the runner sends names of entrants.
_here: set[CoreSet] = set()
_lock = threading.Lock()


@contextlib.contextmanager
def kept_to_cores(number: int, threads: int) -> Iterator[None]:
    """Restrict this thread, and the processes that it starts, to free cores of the worker.

    `number` is how many. Nothing is restricted unless the worker has as many cores as threads:
    otherwise other programs may be using them.
    """
    mine = _take(number, threads)
    if mine:
        os.sched_setaffinity(0, mine)
    try:
        yield
    finally:
        if mine:
            os.sched_setaffinity(0, os.sched_getaffinity(os.getpid()))
            with _cores_lock:
                _taken.difference_update(mine)


async def keep_to_one(dask_worker: Worker) -> None:
    """Restrict a worker of a cluster on this machine to one core, by its number."""
    if _IS_POSSIBLE:
        cores = sorted(os.sched_getaffinity(os.getpid()))
        assign(os.getpid(), {cores[int(dask_worker.name) % len(cores)]})


def _take(number: int, threads: int) -> set[int]:
    """Take free cores; none if too few are free, or if the worker may share them."""
    if not _IS_POSSIBLE:
        return set()
    usable = os.sched_getaffinity(os.getpid())
    with _cores_lock:
        free = sorted(usable - _taken)[:number]
        if len(usable) != threads or len(free) < number:
            return set()
        _taken.update(free)
    return set(free)


def run_core_set(job: ClusterJob, number: int) -> None:
    """Keep the entrants' processes running as long as they are wanted; called as a task."""
    worker = get_worker()
    is_wanted = functools.partial(on_worker.is_wanted, worker, str(worker.get_current_task()))
    # Dask deletes the files that a killed worker leaves in its folder.
    with tempfile.TemporaryDirectory(dir=worker.local_directory) as folder:
        job.write_files(Path(folder))
        core_set = CoreSet(job, number, Path(folder), worker.log_event)
        with _lock:
            _here.add(core_set)
        try:
            with kept_to_cores(job.cores, worker.state.nthreads):
                core_set.run(is_wanted, worker.address)
        finally:
            with _lock:
                _here.discard(core_set)


def remove_entrant(tournament: str, name: str) -> None:
    """End the processes of an entrant on this worker; the runner calls it outside of tasks."""
    for each in _of(tournament):
        each.removed.append(name)


def forget_crashes(tournament: str, name: str) -> None:
    """Forget the crashes of an entrant on this worker; the runner calls it outside of tasks."""
    for each in _of(tournament):
        each.succeeded.append(name)


class CoreSet:
    """The processes of the entrants on some cores of a worker."""

    def __init__(
        self, job: ClusterJob, number: int, folder: Path, log_event: Callable[..., None]
    ) -> None:
        """`log_event` publishes a message under a topic of Dask."""
        self.job = job
        #: Names that the runner has sent since the last poll, added by another thread.
        self.removed: list[str] = []
        self.succeeded: list[str] = []
        self._fields = {"core_set": number, "run": secrets.token_hex(8)}
        self._log_event = log_event
        self._logs = LogFolder()
        more = {"PLAYOUT_CORE_SET": str(number), **job.variables_in(folder)}
        start = starter(job.spec, folder, job.address, job.tournament, job.tokens, more)
        self._supervisor = Supervisor(
            job.spec.entrants, start, self._logs, self._show, self._withdraw
        )
        for each in job.spec.entrants:
            self._supervisor.add(each.name, number)

    def run(self, is_wanted: Callable[[], bool], worker: str) -> None:
        """Start the processes, and start exited ones again, as long as they are wanted."""
        self._report(started=worker, host=socket.gethostname())
        try:
            while is_wanted():
                self._poll(time.monotonic())
                time.sleep(_POLL_INTERVAL_S)
        finally:
            # At once: if both players of a match leave, neither loses it.
            self._supervisor.stop(0.0)
            self._logs.close()
            self._report(ended=worker)

    def _poll(self, now: float) -> None:
        while self.removed:
            self._supervisor.remove(self.removed.pop())
        while self.succeeded:
            self._supervisor.match_played(self.succeeded.pop())
        some_ended = any(each.poll() is not None for each in self._supervisor.processes)
        self._supervisor.poll(now, reachable=not some_ended or not unreachable(self.job.address))

    def _show(self, text: str) -> None:
        self._report(said=text)

    def _withdraw(self, name: str) -> None:
        self._report(crashing=name)

    def _report(self, **fields: object) -> None:
        self._log_event(self.job.topic, self._fields | fields)


def unreachable(address: tuple[str, int], patience_s: float = _REACH_S) -> str:
    """Return why this machine cannot connect to an address; empty if it can."""
    try:
        socket.create_connection(address, patience_s).close()
    except OSError as error:
        return os.strerror(error.errno) if error.errno else str(error)
    return ""


def _of(tournament: str) -> list[CoreSet]:
    with _lock:
        return [each for each in _here if each.job.tournament == tournament]
