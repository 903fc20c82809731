"""Self-play on the workers of a Dask cluster: each shard of a round is a task.

Self-play computes without a pause. So that a worker of Dask still answers the scheduler, and uses
all its cores, games are played by processes, one for each task at a time, as on a single machine. A
process is kept for the next shard for some seconds, and ends with the worker.
"""

from __future__ import annotations

import contextlib
import functools
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from distributed import get_worker

from playout.cluster import on_worker
from playout.players.training.cluster import cluster_tasks
from playout.players.training.cluster.cluster_tasks import ClusterTask, ClusterTasks
from playout.players.training.jobs import Job, PlayedShard, ShardProcesses
from playout.players.training.run_folder import read
from playout.players.training.settings import ProcessSettings

#: Seconds after which a process without a job ends: the learner may have been killed.
_IDLE_S = 30.0
_LOG = "playout-train.log"


def play_shard(run: str, job: Job, net: bytes, attempt: int) -> PlayedShard | None:
    """Play a shard, as a task; return None if it is no longer wanted. Raises TrainingError."""
    worker = get_worker()
    is_wanted = functools.partial(on_worker.is_wanted, worker, str(worker.get_current_task()))
    report = functools.partial(cluster_tasks.report, worker, run, str(job.shard), attempt)
    report(started=worker.address)
    folder = Path(worker.local_directory)  # which Dask removes, also that of a killed worker
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".onnx") as file:
        file.write(net)
        file.flush()
        job = replace(job, net=Path(file.name))
        return _processes_in(folder).play(job, lambda n: report(evaluations=n), is_wanted)


@functools.cache
def _processes_in(folder: Path) -> ShardProcesses:
    """Return the processes of the worker with this folder."""
    return ShardProcesses(folder / _LOG, _IDLE_S)


@contextlib.contextmanager
def opened(
    address: str, processes: ProcessSettings, say: Callable[[str], None]
) -> Iterator[DaskWorkers]:
    """Yield the workers of a cluster at an address, or of a new one on this machine.

    Raises ClickException if all of them have faults.
    """
    with cluster_tasks.opened(address, processes, say) as tasks:
        yield DaskWorkers(tasks)


class DaskWorkers:
    """Plays the jobs of a round as tasks of Dask."""

    def __init__(self, tasks: ClusterTasks) -> None:
        self._tasks = tasks
        #: Files of games to continue, oldest first.
        self._games = deque[bytes]()
        self._played: list[PlayedShard] = []

    @property
    def count(self) -> int:
        """The number of cores, at least 1: workers may come back."""
        return max(1, self._tasks.cores)

    @property
    def evaluations(self) -> int:
        """The number of evaluations for the jobs since `start` was called, as reported."""
        return self._tasks.evaluations

    @property
    def is_idle(self) -> bool:
        """Whether all jobs are done."""
        return self._tasks.is_idle

    @property
    def description(self) -> str:
        """The numbers of workers, of their cores, and of shards that were handed out again."""
        return self._tasks.description

    def start(self, jobs: Sequence[Job]) -> None:
        """Hand out these jobs; all earlier ones are done. Raises TrainingError."""
        nets = {str(each): read(each) for each in {job.net for job in jobs}}
        self._tasks.start(map(self._task, jobs), nets)

    def poll(self, timeout_s: float) -> list[PlayedShard]:
        """Return the shards that were completed since the last call, and hand out lost ones again.

        Raises TrainingError if a shard fails repeatedly.
        """
        self._tasks.poll(timeout_s)
        played, self._played = self._played, []
        self._games.extend(each.games for each in played if each.games is not None)
        return played

    def _task(self, job: Job) -> ClusterTask:
        job = replace(job, games=self._games.popleft() if self._games else b"")
        return ClusterTask(
            name=str(job.shard),
            call=play_shard,
            arguments=functools.partial(self._arguments, job),
            take=self._take,
        )

    def _arguments(self, job: Job, attempt: int) -> tuple[str, Job, Any, int]:
        return self._tasks.run, job, self._tasks.file(str(job.net)), attempt

    def _take(self, played: PlayedShard) -> None:
        self._played.append(played)
