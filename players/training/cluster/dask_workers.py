"""The workers of a Dask cluster, as the learner sees them: they play the shards of each round."""

from __future__ import annotations

import contextlib
import functools
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from players.training import complete_files
from players.training import settings as settings_file
from players.training.cluster import cluster_tasks, shard_task
from players.training.cluster.cluster_tasks import ClusterTask, ClusterTasks
from players.training.cluster.shard_task import PlayedShard, ShardTask
from players.training.settings import TrainingSettings
from players.training.worker import Job

#: Seconds to wait at the end until the workers have ended their processes.
_CLOSE_S = 5.0


@contextlib.contextmanager
def opened(
    address: str, settings: TrainingSettings, say: Callable[[str], None]
) -> Iterator[DaskWorkers]:
    """The workers of the cluster at an address, or of one on this machine, to the block's end.

    Raises ClickException if none of them can play.
    """
    with cluster_tasks.opened(address, settings.processes, say) as tasks:
        try:
            yield DaskWorkers(tasks, settings)
        finally:
            tasks.cancel()
            tasks.on_all_workers(shard_task.forget_run, _CLOSE_S)


class DaskWorkers:
    """Plays the jobs of a round as tasks of Dask; a shard is written here once, whole, or not."""

    def __init__(self, tasks: ClusterTasks, settings: TrainingSettings) -> None:
        self._tasks = tasks
        self._text = settings_file.text_of(settings)
        #: Files of games that go on, oldest first.
        self._games = deque[bytes]()

    @property
    def count(self) -> int:
        """The number of cores that play, at least 1: they may come back."""
        return max(1, self._tasks.cores)

    @property
    def evaluations(self) -> int:
        """How many positions were evaluated for the jobs since `play` was called, as reported."""
        return self._tasks.evaluations

    @property
    def is_idle(self) -> bool:
        """Whether all jobs are done."""
        return self._tasks.is_idle

    @property
    def description(self) -> str:
        """The workers and their cores, and how many shards had to be handed out again."""
        return self._tasks.description

    def play(self, jobs: list[Job]) -> None:
        """Hand out these jobs; those before are done."""
        self._tasks.start(map(self._task, jobs), {each.net for each in jobs})

    def poll(self, timeout_s: float) -> None:
        """Wait for a change, take the shards that were played, and hand out those that were lost.

        Raises TrainingError if a shard fails again and again.
        """
        self._tasks.poll(timeout_s)

    def _task(self, job: Job) -> ClusterTask:
        games = self._games.popleft() if self._games else b""
        return ClusterTask(
            name=Path(job.shard).stem,
            call=shard_task.play_shard,
            arguments=functools.partial(self._arguments, job, games),
            take=functools.partial(self._take, job),
        )

    def _arguments(self, job: Job, games: bytes, attempt: int) -> tuple[ShardTask, Any]:
        digest, net = self._tasks.file(job.net)
        task = ShardTask(
            run=self._tasks.run,
            settings=self._text,
            name=Path(job.shard).stem,
            seed=job.seed,
            positions=job.positions,
            net=digest,
            net_round=job.net_round,
            games=games,
            attempt=attempt,
        )
        return task, net

    def _take(self, job: Job, played: PlayedShard) -> None:
        """Write the file of a shard: it counts from now on."""
        complete_files.write(Path(job.shard), played.shard)
        self._games.append(played.games)
