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
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, as_completed
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from playout import games
from playout.cluster.cluster import (
    Cluster,
    Content,
    Done,
    Event,
    Failed,
    Lost,
    Task,
    connected,
    require_workers,
)
from playout.cluster.workers import Need, RunningTask
from playout.commands.text import counted
from playout.players import Limit
from playout.players.comparison.pairs import openings
from playout.players.nets.net import EXTRAS, installed
from playout.players.training import TrainingError
from playout.players.training.jobs import (
    ATTEMPTS,
    EvaluatedPlayer,
    EvaluationTerms,
    Job,
    PlayedShard,
    ShardPlayers,
    ShardProcesses,
    played_pair,
)
from playout.players.training.run_folder import read
from playout.players.training.settings import ProcessSettings
from playout.ratings.pairs import PairScore

T = TypeVar("T")

#: The resource of Dask that trainings ask for, and the extras of Playout on a worker.
TRAINING_CORES, _EXTRAS = "playout-training-cores", "nets,cluster"
#: Seconds after which a process without a job ends: the learner may have been killed.
_IDLE_S = 30.0
#: Seconds between two polls of the cluster without a change.
_POLL_S = 0.1
#: The log of the processes, in the folder of a worker.
_LOG = "playout-train.log"


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
        return _processes_in(task.folder).play(job, is_wanted=task.is_wanted)


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
) -> Iterator[ClusterExecutor]:
    """Yield the executor of a cluster at an address, or of a new one on this machine.

    Workers with faults are shown, and get no tasks. Raises ClickException if all have faults.
    """
    with connected(address, settings.workers) as cluster:
        need = Need(TRAINING_CORES, functools.partial(net_faults, settings.backend), _EXTRAS)
        require_workers(cluster, need, "tasks", say)
        with ClusterExecutor(cluster, say) as executor:
            say(f"Playing on {executor.description}; {cluster.dashboard or cluster.address}")
            yield executor


class ClusterExecutor(Executor):
    """Calls functions as tasks on the workers of a cluster, which a thread polls."""

    def __init__(self, cluster: Cluster, say: Callable[[str], None]) -> None:
        """`say` prints a line, in any thread."""
        self.cluster = cluster
        self._say = say
        self._submitted = SimpleQueue[tuple[Task, Future[Any]]]()
        self._futures: dict[Task, Future[Any]] = {}
        self._failures = Counter[Task]()
        self._again = 0
        self._is_over = False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    @property
    def description(self) -> str:
        """The numbers of workers, of their cores, and of tasks that were handed out again."""
        if not self.cluster.is_connected:
            return "no worker: there is no connection to the scheduler"
        good = sum(each.cores > 0 for each in tuple(self.cluster.workers.values()))
        again = [f"{counted(self._again, 'task')} handed out again"] if self._again else []
        cores = counted(self.cluster.cores, "core")
        return ", ".join((counted(good, "worker"), cores, *again))

    def submit(self, call: Callable[..., T], /, *arguments: Any, **_: Any) -> Future[T]:
        """Call a function with a RunningTask and these arguments on a worker.

        It is called again if it returns None, because its worker is about to leave. If it fails
        repeatedly, the future has a TrainingError.
        """
        future: Future[T] = Future()
        self._submitted.put((Task(call.__name__, call, arguments), future))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the thread, and have the scheduler cancel the tasks that are not done."""
        del cancel_futures
        self._is_over = True
        if wait:
            self._thread.join()

    def _run(self) -> None:
        try:
            while not self._is_over:
                self._poll()
        except Exception as error:  # or the caller would wait for ever
            for future in self._futures.values():
                future.set_exception(error)
            raise
        self.cluster.cancel(self._futures)

    def _poll(self) -> None:
        self.cluster.wait(_POLL_S)
        with contextlib.suppress(Empty):
            while True:
                task, future = self._submitted.get_nowait()
                self._futures[self.cluster.submit(task)] = future
        for event in self.cluster.poll(time.monotonic()):
            self._handle(event)

    def _handle(self, event: Event) -> None:
        for line in self.cluster.news(event, "tasks"):
            self._say(line)
        match event:
            case Lost():
                self._again += 1
            case Failed(task, error):
                self._failed(task, error)
            case Done(task, result):
                if result is None:
                    self._repeat(task)
                else:
                    self._futures.pop(task).set_result(result)

    def _failed(self, task: Task, error: str) -> None:
        self._failures[task] += 1
        if self._failures[task] < ATTEMPTS:
            self._say(f"A task has failed, and is handed out again: {error}")
            self._repeat(task)
            return
        text = f"{task.worker or 'a worker'} has failed {ATTEMPTS} times: {error}"
        self._futures.pop(task).set_exception(TrainingError(text))

    def _repeat(self, task: Task) -> None:
        self._again += 1
        self.cluster.submit(task)


@contextlib.contextmanager
def opened_players(
    address: str, settings: ProcessSettings, say: Callable[[str], None]
) -> Iterator[ClusterPlayers]:
    """Yield the workers of a cluster for self-play, as `opened` does."""
    with opened(address, settings, say) as executor:
        yield ClusterPlayers(executor, settings.workers)


class ClusterPlayers(ShardPlayers):
    """Plays the jobs of a round on the workers of a cluster."""

    def __init__(self, executor: ClusterExecutor, most_cores: int) -> None:
        """`most_cores` is the maximum number of cores for jobs; 0: all."""
        super().__init__()
        self._executor = executor
        self._most_cores = most_cores
        self._net: tuple[Path, Content] | None = None
        #: Files of games to continue, oldest first.
        self._games = deque[bytes]()

    @property
    def count(self) -> int:
        """The number of cores for jobs, at least 1: workers may come back."""
        cores = self._executor.cluster.cores
        return max(1, min(self._most_cores or cores, cores))

    @property
    def description(self) -> str:
        """The numbers of workers, of their cores, and of shards that were handed out again."""
        return self._executor.description

    def submit(self, job: Job) -> Future[PlayedShard | None]:
        """Have a job played. Raises TrainingError."""
        if self._net is None or self._net[0] != job.net:
            self._net = job.net, Content(read(job.net))
        job = replace(job, games=self._games.popleft() if self._games else b"")
        return self._executor.submit(play_shard, job, self._net[1])

    def poll(self, timeout_s: float) -> list[PlayedShard]:
        """Return the shards that have arrived since the last call. Raises TrainingError."""
        shards = super().poll(timeout_s)
        self._games.extend(each.games for each in shards if each.games is not None)
        return shards


def played(
    address: str, terms: EvaluationTerms, pairs: int, say: Callable[[str], None]
) -> Iterator[PairScore]:
    """Play pairs on a cluster; yield the points of the first player in each.

    Raises OpeningError, TrainingError, and ClickException if all workers have faults.
    """
    given = openings(terms.game, terms.plies, terms.seed, pairs)
    files = [each.learned and Content(read(each.learned)) for each in terms.players]
    with opened(address, ProcessSettings(), say) as executor:
        terms_of_pair = str(terms.game), terms.players, terms.limit
        playing = [executor.submit(play_pair, *terms_of_pair, each, *files) for each in given]
        for each in as_completed(playing):
            yield each.result()
