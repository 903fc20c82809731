"""Self-play on the workers of a Dask cluster: each shard of a round is a task.

Self-play computes without a pause. So that a worker of Dask still answers the scheduler, and uses
all its cores, games are played by processes, one for each task at a time, as on a single machine. A
process is kept for the next shard of the run for some seconds, and ends with the worker.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import msgspec
from distributed import Worker, get_worker

from playout.cluster import on_worker
from playout.players.training import TrainingError
from playout.players.training.cluster import cluster_tasks
from playout.players.training.cluster.cluster_tasks import ClusterTask, ClusterTasks
from playout.players.training.run_folder import RunFolder
from playout.players.training.samples import ShardName
from playout.players.training.selfplay_process import Job, WorkerMessage, WorkerProcess
from playout.players.training.settings import TrainingSettings, text_of

#: Seconds after which a process without a job ends: the learner may have been killed.
_IDLE_S = 30.0
#: Seconds between two checks whether a task is wanted, and between two reports of its progress.
_POLL_S, _REPORT_S = 0.2, 1.0

#: Processes that wait for a job, by the run.
_idle: dict[str, list[_Process]] = {}
#: Places of shards in the folder of a run on this worker. Each is used once: tasks may be repeated.
_places = itertools.count()
_lock = threading.Lock()


@dataclass(frozen=True)
class ShardTask:
    """A shard to play, which follows from these values and the net.

    `run` identifies the training of one process, `settings` is the text of its settings. `games` is
    the file of the games to continue, empty for new ones. `attempt` is for reports.
    """

    run: str
    settings: str
    job: Job
    games: bytes
    attempt: int


@dataclass(frozen=True)
class PlayedShard:
    """The file of a shard, and the file of the games to continue."""

    shard: bytes
    games: bytes


class _Process:
    """A process that plays, and its reports."""

    def __init__(self, folder: RunFolder) -> None:
        self.reports = SimpleQueue[WorkerMessage]()
        self.worker = WorkerProcess(folder, self.reports, _IDLE_S)


def play_shard(task: ShardTask, net: bytes) -> PlayedShard | None:
    """Play a shard, as a task; return None if it is no longer wanted. Raises TrainingError."""
    worker = get_worker()
    is_wanted = functools.partial(on_worker.is_wanted, worker, str(worker.get_current_task()))
    folder = _folder(worker, task.run)
    with _lock:
        if not folder.exists:
            folder = RunFolder.copy(folder.path, task.settings)
        folder.put_net(task.job.net, net)
        waiting = _idle.get(task.run, [])
        process = waiting.pop() if waiting else None
    if process is None or process.worker.process.poll() is not None:
        process = _Process(folder)
    name = str(task.job.shard)
    report = functools.partial(cluster_tasks.report, worker, task.run, name, task.attempt)
    report(started=worker.address)
    played = None
    try:
        played = _play(task, process, folder, is_wanted, report)
    finally:
        if played is None:
            process.worker.kill()
    with _lock:
        if played is not None:
            _idle.setdefault(task.run, []).append(process)
    return played


def forget_run(run: str, dask_worker: Worker) -> None:
    """Kill the waiting processes of a run on this worker, and remove its files."""
    with _lock:
        for each in _idle.pop(run, ()):
            each.worker.kill()
    shutil.rmtree(_folder(dask_worker, run).path, ignore_errors=True)


def _play(
    task: ShardTask,
    process: _Process,
    folder: RunFolder,
    is_wanted: Callable[[], bool],
    report: Callable[..., None],
) -> PlayedShard | None:
    """Have a process play the shard, and return its files. Raises TrainingError."""
    name = ShardName(task.job.shard.round, next(_places))
    if task.games:
        folder.put_games(name, task.games)
    try:
        process.worker.start(msgspec.structs.replace(task.job, shard=name, alone=True))
        evaluations = _wait(process, is_wanted, report)
        if evaluations is None:
            return None
        report(evaluations=evaluations)
        return PlayedShard(*folder.read_played(name))
    finally:
        folder.forget_shard(name)


def _wait(
    process: _Process, is_wanted: Callable[[], bool], report: Callable[..., None]
) -> int | None:
    """Wait for the end of a job; return the evaluations, None if it is no longer wanted.

    Raises TrainingError.
    """
    reported_at = time.monotonic()
    while is_wanted():
        try:
            _, said = process.reports.get(timeout=_POLL_S)
        except Empty:
            continue
        if said is None:
            raise process.worker.failure()
        if said.error:
            raise TrainingError(said.error)
        if said.done:
            return said.evaluations
        if time.monotonic() > reported_at + _REPORT_S:
            reported_at = time.monotonic()
            report(evaluations=said.evaluations)
    return None


def _folder(worker: Worker, run: str) -> RunFolder:
    """Return the folder of a run on this worker; Dask removes that of a killed worker."""
    return RunFolder(Path(worker.local_directory) / cluster_tasks.topic(run))


#: Seconds to wait at the end for the workers to kill their processes.
_CLOSE_S = 5.0


@contextlib.contextmanager
def opened(
    address: str, folder: RunFolder, settings: TrainingSettings, say: Callable[[str], None]
) -> Iterator[DaskWorkers]:
    """Yield the workers of a cluster at an address, or of a new one on this machine.

    Raises ClickException if all of them have faults.
    """
    with cluster_tasks.opened(address, settings.processes, say) as tasks:
        try:
            yield DaskWorkers(tasks, folder, settings)
        finally:
            tasks.cancel()
            tasks.on_all_workers(forget_run, _CLOSE_S)


class DaskWorkers:
    """Plays the jobs of a round as tasks of Dask; shards are written on this machine."""

    def __init__(self, tasks: ClusterTasks, folder: RunFolder, settings: TrainingSettings) -> None:
        self._tasks = tasks
        self._folder = folder
        self._text = text_of(settings)
        #: Files of games to continue, oldest first.
        self._games = deque[bytes]()

    @property
    def count(self) -> int:
        """The number of cores, at least 1: workers may come back."""
        return max(1, self._tasks.cores)

    @property
    def evaluations(self) -> int:
        """The number of evaluations for the jobs since `play` was called, as reported."""
        return self._tasks.evaluations

    @property
    def is_idle(self) -> bool:
        """Whether all jobs are done."""
        return self._tasks.is_idle

    @property
    def description(self) -> str:
        """The numbers of workers, of their cores, and of shards that were handed out again."""
        return self._tasks.description

    def play(self, jobs: list[Job]) -> None:
        """Hand out these jobs; all earlier ones are done. Raises TrainingError."""
        nets = {str(each): self._folder.net_content(each) for each in {job.net for job in jobs}}
        self._tasks.start(map(self._task, jobs), nets)

    def poll(self, timeout_s: float) -> None:
        """Wait for a change, store played shards, and hand out lost ones again.

        Raises TrainingError if a shard fails repeatedly.
        """
        self._tasks.poll(timeout_s)

    def _task(self, job: Job) -> ClusterTask:
        games = self._games.popleft() if self._games else b""
        return ClusterTask(
            name=str(job.shard),
            call=play_shard,
            arguments=functools.partial(self._arguments, job, games),
            take=functools.partial(self._take, job),
        )

    def _arguments(self, job: Job, games: bytes, attempt: int) -> tuple[ShardTask, Any]:
        task = ShardTask(self._tasks.run, self._text, job, games, attempt)
        return task, self._tasks.file(str(job.net))

    def _take(self, job: Job, played: PlayedShard) -> None:
        """Store a shard, which counts from now on."""
        self._folder.put_shard(job.shard, played.shard)
        self._games.append(played.games)
