"""Self-play and evaluation on the workers of a Dask cluster.

The learner, the folder of the run and everything in it stay on their machine. A task of Dask plays
one shard or one pair; it is a function of its arguments alone, so that it does not matter where it
runs, and how often. Its result counts once, when it has arrived.

Self-play computes without a pause. So that a worker of Dask still answers the scheduler, and uses
all its cores, games are played by processes, one for each task at a time, as on a single machine
(`jobs`). A process is kept for the next shard for some seconds, and ends with the worker.

Only `playout-train` with `--dask` imports this module, and Dask: it is optional.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from playout import games
from playout.cluster.cluster import (
    Cluster,
    Connected,
    Content,
    Disconnected,
    Done,
    Event,
    Failed,
    Joined,
    Left,
    Lost,
    Said,
    Task,
    clear_loss,
    connected,
)
from playout.cluster.workers import Need, RunningTask, fault_table
from playout.commands.text import counted
from playout.players import Limit
from playout.players.nets.net import EXTRAS, installed
from playout.players.training import TrainingError
from playout.players.training.evaluation import (
    EvaluatedPlayer,
    EvaluationTerms,
    openings,
    played_pair,
)
from playout.players.training.jobs import ATTEMPTS, Job, PlayedShard, ShardProcesses
from playout.players.training.run_folder import read
from playout.players.training.settings import ProcessSettings
from playout.ratings.pairs import PairScore

#: The resource of Dask that trainings ask for, and the extras of Playout on a worker.
TRAINING_CORES, _EXTRAS = "playout-training-cores", "nets,cluster"
#: Seconds after which a process without a job ends: the learner may have been killed.
_IDLE_S = 30.0
#: Seconds between two polls of the cluster without a change.
_POLL_S = 0.1
#: The log of the processes, in the folder of a worker.
_LOG = "playout-train.log"
_NONE_LEFT = "none is left; waiting for one to join"


# On a worker.


def net_faults(backend: str, time_s: float) -> list[str]:
    """Return the packages that this worker lacks to evaluate nets; called on the worker.

    `backend` is that of the settings. The clock of the learner does not matter.
    """
    del time_s
    wanted = [backend] if backend != "auto" else list(EXTRAS)
    has_onnx = importlib.util.find_spec("onnx") is not None
    if has_onnx and set(wanted) & set(installed()):
        return []
    lacking = " or ".join(wanted) if has_onnx else "onnx"
    extras = ",".join(dict.fromkeys(("nets", EXTRAS[wanted[0]])))
    install = f'pip install ".[{extras}]" in a checkout of Playout'
    return [f"it lacks the package {lacking}, which nets need: {install}"]


def play_shard(task: RunningTask, job: Job, net: bytes) -> PlayedShard | None:
    """Play a shard; return None if it is no longer wanted. Raises TrainingError."""
    with tempfile.NamedTemporaryFile(dir=task.folder, suffix=".onnx") as file:
        file.write(net)
        file.flush()
        job = replace(job, net=Path(file.name))
        say = functools.partial(_say_evaluations, task)
        return _processes_in(task.folder).play(job, say, task.is_wanted)


def _say_evaluations(task: RunningTask, evaluations: int) -> None:
    task.say(evaluations=evaluations)


@functools.cache
def _processes_in(folder: Path) -> ShardProcesses:
    """Return the processes of the worker with this folder."""
    return ShardProcesses(folder / _LOG, _IDLE_S)


def play_pair(
    _: RunningTask,
    game: str,
    players: tuple[EvaluatedPlayer, EvaluatedPlayer],
    limit: Limit,
    opening: Sequence[int],
    first: bytes | None,
    second: bytes | None,
) -> PairScore:
    """Play a pair of matches; `first` and `second` are the files of the players."""
    with contextlib.ExitStack() as stack:
        both = [
            stack.enter_context(_with_file(player, content))
            for player, content in zip(players, (first, second), strict=True)
        ]
        terms = EvaluationTerms(games.load(game), (both[0], both[1]), limit, len(opening), 0)
        return played_pair(terms, opening)


@contextlib.contextmanager
def _with_file(player: EvaluatedPlayer, content: bytes | None) -> Iterator[EvaluatedPlayer]:
    """Within the block, a player has its file on this machine."""
    if content is None or player.learned is None:
        yield player
        return
    with tempfile.NamedTemporaryFile(suffix=player.learned.suffix) as file:
        file.write(content)
        file.flush()
        yield replace(player, learned=Path(file.name))


# On the machine of the learner.


@contextlib.contextmanager
def opened(
    address: str, settings: ProcessSettings, say: Callable[[str], None]
) -> Iterator[ClusterTasks]:
    """Yield the tasks of a cluster at an address, or of a new one on this machine.

    Workers with faults are shown, and get no tasks. Raises ClickException if all have faults.
    """
    with connected(address, settings.workers) as cluster:
        with clear_loss(cluster):
            need = Need(TRAINING_CORES, functools.partial(net_faults, settings.backend), _EXTRAS)
            checked = cluster.check(need)
        if table := fault_table(checked):
            say(f"These workers get no tasks:\n{table}")
        if not cluster.cores:
            raise click.ClickException("no worker of the cluster can play games with nets")
        tasks = ClusterTasks(cluster, settings.workers, say)
        say(f"Playing on {tasks.description}; {cluster.dashboard or cluster.address}")
        yield tasks


class ClusterTasks:
    """Tasks that have a result each, and the workers for them."""

    def __init__(self, cluster: Cluster, most_cores: int, say: Callable[[str], None]) -> None:
        """`most_cores` is the maximum number of cores for tasks, 0: all; `say` prints a line."""
        self._cluster = cluster
        self._most_cores = most_cores
        self._say = say
        self._left: set[Task] = set()
        #: The failures and the evaluations of tasks, as reported.
        self._failures = Counter[Task]()
        self._evaluations = Counter[Task]()
        self._again = 0

    @property
    def cores(self) -> int:
        """The number of cores for tasks; 0 without workers."""
        return min(self._most_cores or self._cluster.cores, self._cluster.cores)

    @property
    def evaluations(self) -> int:
        """The number of evaluations for the tasks, as reported."""
        return self._evaluations.total()

    @property
    def is_idle(self) -> bool:
        """Whether all tasks are done."""
        return not self._left

    @property
    def description(self) -> str:
        """The numbers of workers, of their cores, and of tasks that were handed out again."""
        if not self._cluster.is_connected:
            return "no worker: there is no connection to the scheduler"
        good = sum(each.cores > 0 for each in self._cluster.workers.values())
        again = [f"{counted(self._again, 'task')} handed out again"] if self._again else []
        cores = counted(self._cluster.cores, "core")
        return ", ".join((counted(good, "worker"), cores, *again))

    def start(self, tasks: Sequence[Task]) -> None:
        """Hand out tasks; all earlier ones are done."""
        self._evaluations.clear()
        self._failures.clear()
        self._left = {self._cluster.submit(each) for each in tasks}

    def poll(self, timeout_s: float) -> list[Any]:
        """Wait for a change, and return the results that have arrived.

        Raises TrainingError if a task fails repeatedly.
        """
        self._cluster.wait(timeout_s)
        results = []
        for event in self._cluster.poll(time.monotonic()):
            match event:
                case Done(task, result) if result is None:  # its worker is about to leave
                    self._repeat(task)
                case Done(task, result):
                    self._left.remove(task)
                    results.append(result)
                case _:
                    self._handle(event)
        return results

    def _handle(self, event: Event) -> None:
        match event:
            case Disconnected():
                self._say("The connection to the scheduler of Dask is lost; trying again ...")
            case Connected():
                self._say("The scheduler of Dask is back")
            case Joined(worker):
                for fault in worker.faults:
                    self._say(f"Worker {worker.address} gets no tasks: {fault}")
                if worker.cores:
                    cores = counted(self._cluster.cores, "core")
                    self._say(f"Worker {worker.address} has joined: {cores}")
            case Left(worker):
                if worker.cores:
                    cores = counted(self._cluster.cores, "core")
                    left = f"{cores} left" if self._cluster.cores else _NONE_LEFT
                    self._say(f"Worker {worker.address} is gone: {left}")
            case Lost(task):
                self._again += 1
                del self._evaluations[task]
            case Said(task, {"evaluations": evaluations}):
                self._evaluations[task] = evaluations
            case Failed(task, error):
                self._failed(task, error)

    def _failed(self, task: Task, error: str) -> None:
        """Count a failure. Raises TrainingError for the last allowed one."""
        self._failures[task] += 1
        if self._failures[task] >= ATTEMPTS:
            raise TrainingError(f"{task.worker or 'a worker'} cannot play {task.name}: {error}")
        self._say(f"{task.name} has failed, and is played again: {error}")
        self._repeat(task)

    def _repeat(self, task: Task) -> None:
        self._again += 1
        del self._evaluations[task]
        self._cluster.submit(task)


@contextlib.contextmanager
def opened_players(
    address: str, settings: ProcessSettings, say: Callable[[str], None]
) -> Iterator[ClusterPlayers]:
    """Yield the workers of a cluster for self-play, as `opened` does."""
    with opened(address, settings, say) as tasks:
        yield ClusterPlayers(tasks)


class ClusterPlayers:
    """Plays the jobs of a round as tasks."""

    def __init__(self, tasks: ClusterTasks) -> None:
        self._tasks = tasks
        #: Files of games to continue, oldest first.
        self._games = deque[bytes]()

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
        nets = {path: Content(read(path)) for path in {job.net for job in jobs}}
        self._tasks.start([self._task(job, nets[job.net]) for job in jobs])

    def poll(self, timeout_s: float) -> list[PlayedShard]:
        """Return the shards that have arrived since the last call, and hand out lost ones again.

        Raises TrainingError if a shard fails repeatedly.
        """
        played: list[PlayedShard] = self._tasks.poll(timeout_s)
        self._games.extend(each.games for each in played if each.games is not None)
        return played

    def _task(self, job: Job, net: Content) -> Task:
        job = replace(job, games=self._games.popleft() if self._games else b"")
        return Task(str(job.shard), play_shard, (job, net))


def played(
    address: str, terms: EvaluationTerms, pairs: int, say: Callable[[str], None]
) -> Iterator[PairScore]:
    """Play pairs on a cluster; yield the points of the first player as pairs end.

    Raises OpeningError, TrainingError, and ClickException if all workers have faults.
    """
    given = openings(terms, pairs)
    files = [each.learned and Content(read(each.learned)) for each in terms.players]
    with opened(address, ProcessSettings(), say) as tasks:
        tasks.start([
            Task(
                f"pair-{number}",
                play_pair,
                (str(terms.game), terms.players, terms.limit, tuple(opening), *files),
            )
            for number, opening in enumerate(given, 1)
        ])  # fmt: skip
        while not tasks.is_idle:
            yield from tasks.poll(_POLL_S)
