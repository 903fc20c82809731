"""The workers of a Dask cluster, as the learner sees them: they play the shards of each round."""

from __future__ import annotations

import contextlib
import functools
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from distributed import Worker, get_worker

from playout.cluster import on_worker
from playout.players.nets.files import write_atomically
from playout.players.training import run_files
from playout.players.training import settings as settings_file
from playout.players.training.cluster import cluster_tasks, progress
from playout.players.training.cluster.cluster_tasks import ClusterTask, ClusterTasks
from playout.players.training.run_files import TrainingError
from playout.players.training.selfplay_process import Job
from playout.players.training.selfplay_workers import WorkerMessage, WorkerProcess, failure
from playout.players.training.settings import TrainingSettings

# The task of Dask that plays a shard, on a worker.
#
# Self-play computes without a pause. So that the worker answers the scheduler all the same, and
# uses all its cores, games are played by processes, one for each task at a time, as on a single
# machine. They are kept for the next shard of the run for some seconds, and end with the worker.


#: Seconds after which a process ends that gets no job: the learner may have been killed.
_IDLE_S = 30.0
#: Seconds between two looks whether a task is wanted, and between two reports of its progress.
_POLL_S, _REPORT_S = 0.2, 1.0
#: The nets whose files are kept: with `overlap`, a round uses the last but one.
_NETS = 3

#: Processes that wait for a job, by the run.
_idle: dict[str, list[_Process]] = {}
_lock = threading.Lock()


@dataclass(frozen=True)
class ShardTask:
    """A shard to play; it follows from these values and from the net.

    `run` identifies the training while one process runs it. `settings` is the text of its settings,
    `name` that of the shard, `net` the digest of the net and `net_round` the round after which it
    was written. `games` is the file of the games that go on, empty for new ones. `attempt` is only
    for reports.
    """

    run: str
    settings: str
    name: str
    seed: int
    positions: int
    net: str
    net_round: int
    games: bytes
    attempt: int


@dataclass(frozen=True)
class PlayedShard:
    """The file of a shard, and the file of the games that go on."""

    shard: bytes
    games: bytes


class _Process:
    """A process that plays, and its reports."""

    def __init__(self, settings: Path, log: Path) -> None:
        self.reports = SimpleQueue[WorkerMessage]()
        self.worker = WorkerProcess(settings, log, self.reports, _IDLE_S)


def play_shard(task: ShardTask, net: bytes) -> PlayedShard | None:
    """Play a shard; called as a task. None if it is not wanted any more. Raises TrainingError."""
    worker = get_worker()
    is_wanted = functools.partial(on_worker.is_wanted, worker, str(worker.get_current_task()))
    folder = _folder(worker, task.run)
    settings, log = folder / "settings.toml", folder / "workers.log"
    with _lock:
        if not settings.exists():
            folder.mkdir(exist_ok=True)
            write_atomically(settings, task.settings.encode())
        net_file = _written(folder, task.net, net)
        waiting = _idle.get(task.run, [])
        process = waiting.pop() if waiting else None
    if process is None or process.worker.process.poll() is not None:
        process = _Process(settings, log)
    report = functools.partial(progress.report, worker, task.run, task.name, task.attempt)
    report(started=worker.address)
    played = None
    try:
        played = _play(task, process, folder, net_file, is_wanted, report)
    finally:
        if played is None:
            process.worker.kill()
    with _lock:
        if played is not None:
            _idle.setdefault(task.run, []).append(process)
    return played


def forget_run(run: str, dask_worker: Worker) -> None:
    """End the processes that wait on this worker, and remove the files; called by the learner."""
    with _lock:
        for each in _idle.pop(run, ()):
            each.worker.kill()
    shutil.rmtree(_folder(dask_worker, run), ignore_errors=True)


def _play(
    task: ShardTask,
    process: _Process,
    folder: Path,
    net: Path,
    is_wanted: Callable[[], bool],
    report: Callable[..., None],
) -> PlayedShard | None:
    """Have a process play the shard, and read its files. Raises TrainingError."""
    stem = folder / f"{task.name}-{task.attempt}"
    given, left, shard = (stem.with_suffix(f".{kind}.npz") for kind in ("given", "left", "shard"))
    given.write_bytes(task.games)
    process.worker.start(
        Job(
            net=str(net),
            net_round=task.net_round,
            seed=task.seed,
            positions=task.positions,
            shard=str(shard),
            games_from=str(given) if task.games else "",
            games_to=str(left),
        )
    )
    try:
        evaluations = _wait(process, folder / "workers.log", is_wanted, report)
        if evaluations is None:
            return None
        report(evaluations=evaluations)
        return PlayedShard(shard.read_bytes(), left.read_bytes())
    finally:
        for each in (given, left, shard):
            each.unlink(missing_ok=True)


def _wait(
    process: _Process, log: Path, is_wanted: Callable[[], bool], report: Callable[..., None]
) -> int | None:
    """Wait for the end of a job; returns the evaluations, None if it is not wanted any more.

    Raises TrainingError.
    """
    reported_at = time.monotonic()
    while is_wanted():
        try:
            _, said = process.reports.get(timeout=_POLL_S)
        except Empty:
            continue
        if said is None:
            raise TrainingError(failure(process.worker.process.wait(), log))
        if said.error:
            raise TrainingError(said.error)
        if said.done:
            return said.evaluations
        if time.monotonic() > reported_at + _REPORT_S:
            reported_at = time.monotonic()
            report(evaluations=said.evaluations)
    return None


def _written(folder: Path, digest: str, net: bytes) -> Path:
    """The file of a net, whose digest is its name; older files are removed."""
    nets = folder / "nets"
    nets.mkdir(exist_ok=True)
    path = nets / f"{digest}.onnx"
    if not path.exists():
        write_atomically(path, net)
        files = sorted(nets.glob("*.onnx"), key=lambda each: each.stat().st_mtime_ns)
        for each in files[:-_NETS]:
            each.unlink()
    return path


def _folder(worker: Worker, run: str) -> Path:
    """The folder of a run on this worker; Dask removes what a killed worker leaves there."""
    return Path(worker.local_directory) / progress.topic(run)


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
            tasks.on_all_workers(forget_run, _CLOSE_S)


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
            call=play_shard,
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
        run_files.write(Path(job.shard), played.shard)
        self._games.append(played.games)
