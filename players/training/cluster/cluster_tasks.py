"""Tasks on the workers of a Dask cluster, which survive the loss of workers and of the scheduler.

A task that was lost is handed out again. Its result counts once, when it has arrived.
"""

from __future__ import annotations

import contextlib
import functools
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import click
from distributed import Worker

from playout.cluster import on_worker
from playout.cluster.connection import DaskConnection, Message
from playout.cluster.local import clear_loss, connected
from playout.cluster.worker_checks import WorkerChecks
from playout.commands.text import counted
from playout.players.training import TrainingError
from playout.players.training.cluster import requirements
from playout.players.training.cluster.requirements import TrainingWorker
from playout.players.training.jobs import ATTEMPTS
from playout.players.training.settings import ProcessSettings


def topic(run: str) -> str:
    """Return the topic of Dask for the tasks of a run."""
    return f"playout-train-{run}"


def report(worker: Worker, run: str, task: str, attempt: int, **fields: object) -> None:
    """Publish `fields` about an attempt of a task, from its worker."""
    worker.log_event(topic(run), {"task": task, "attempt": attempt, **fields})


@dataclass(frozen=True)
class ClusterTask:
    """A call on a worker, whose result `take` gets on this machine.

    `arguments` makes the arguments from the number of the attempt. A call that returns None was
    interrupted, and is repeated. `name` is shown by Dask and in messages.
    """

    name: str
    call: Callable[..., Any]
    arguments: Callable[[int], tuple[Any, ...]]
    take: Callable[[Any], None]


@dataclass
class _Submitted:
    """A task with its present attempt, whose number is part of the key of Dask.

    `result` fetches the result of the attempt. `failures` counts errors of the task, and results
    that could not be fetched from a worker that is connected. `has_begun` says whether the attempt
    has begun on any worker; `worker` is the one where it runs, None while it waits, and
    `evaluations` the number that was reported from there.
    """

    task: ClusterTask
    future: Any = None
    result: Future[Any] | None = None
    attempt: int = 0
    failures: int = 0
    has_begun: bool = False
    worker: str | None = None
    evaluations: int = 0
    is_done: bool = False


@contextlib.contextmanager
def opened(
    address: str, settings: ProcessSettings, say: Callable[[str], None]
) -> Iterator[ClusterTasks]:
    """Yield the tasks of a cluster at an address, or of a new one on this machine.

    Workers with faults are shown, and get no tasks. Raises ClickException if all have faults.
    """
    with connected(address, settings.workers) as connection:
        with clear_loss(connection):
            checked = requirements.check(connection, settings)
        if table := requirements.table(checked):
            say(f"These workers get no tasks:\n{table}")
        if not any(each.cores for each in checked):
            raise click.ClickException("no worker of the cluster can play games with nets")
        tasks = ClusterTasks(connection, checked, settings, say)
        say(f"Playing on {tasks.description}; {connection.dashboard or connection.address}")
        try:
            yield tasks
        finally:
            tasks.cancel()


class ClusterTasks:
    """The tasks that were started last, and the workers for them."""

    def __init__(
        self,
        connection: DaskConnection,
        workers: Sequence[TrainingWorker],
        settings: ProcessSettings,
        say: Callable[[str], None],
    ) -> None:
        """`workers` were checked; `say` prints a line of text."""
        #: Distinguishes these tasks from those of other trainings on the cluster.
        self.run = secrets.token_hex(8)
        self._connection = connection
        self._most_cores = settings.workers
        self._say = say
        #: The cores of the workers without faults.
        self._workers = {each.address: each.cores for each in workers if each.cores}
        self._tasks: dict[str, _Submitted] = {}
        #: Files, by their names: the content, and Dask's future.
        self._files: Mapping[str, bytes] = {}
        self._kept: dict[str, Any] = {}
        #: The number of files that the cluster was given.
        self._files_given = 0
        self._changed = threading.Event()
        check = functools.partial(requirements.check, connection, settings)
        self._checks = WorkerChecks(connection, check, self._changed.set)
        self._checks.start_silent(each.address for each in workers)
        self._is_connected = True
        self._again = 0
        connection.subscribe(topic(self.run))

    @property
    def cores(self) -> int:
        """The number of cores for tasks, at most that of the settings; 0 without workers."""
        return min(self._most_cores or self._all_cores, self._all_cores)

    @property
    def evaluations(self) -> int:
        """The number of evaluations for the tasks, as reported."""
        return sum(each.evaluations for each in self._tasks.values())

    @property
    def is_idle(self) -> bool:
        """Whether all tasks are done."""
        return all(each.is_done for each in self._tasks.values())

    @property
    def description(self) -> str:
        """The numbers of workers, of their cores, and of tasks that were handed out again."""
        if not self._is_connected:
            return "no worker: there is no connection to the scheduler"
        again = [f"{counted(self._again, 'task')} handed out again"] if self._again else []
        return ", ".join(
            (counted(len(self._workers), "worker"), counted(self._all_cores, "core"), *again)
        )

    def start(self, tasks: Iterable[ClusterTask], files: Mapping[str, bytes]) -> None:
        """Hand out tasks; all earlier ones are done. `files` has the contents for `file`."""
        self._files = files
        self._kept = {}
        self._tasks = {each.name: _Submitted(each) for each in tasks}
        if self._is_connected:
            self._advance()

    def file(self, name: str) -> Any:
        """Return a future for arguments: the worker gets the content of a file.

        The content is sent to the scheduler once, and to each worker once.
        """
        if name not in self._kept:
            self._files_given += 1
            key = f"playout-net-{self.run}-{self._files_given}"
            content = self._files[name]
            self._kept[name] = self._connection.keep(content, key, on_worker.TRAINING_CORES)
        return self._kept[name]

    def poll(self, timeout_s: float) -> None:
        """Wait for a change, take results, and hand out lost tasks again.

        Raises TrainingError if a task fails repeatedly.
        """
        self._changed.wait(timeout_s)
        self._changed.clear()
        self._notice_connection(time.monotonic())
        if self._is_connected:
            for message in self._connection.messages():
                self._received(message)
            for worker in self._checks.ended():
                self._joined(worker)
            self._advance()

    def cancel(self) -> None:
        """Cancel the tasks that are not done."""
        self._connection.cancel(each.future for each in self._tasks.values() if each.future)

    @property
    def _all_cores(self) -> int:
        return sum(self._workers.values())

    # Tasks.

    def _advance(self) -> None:
        """Hand out tasks that are not yet, and take the results of finished ones."""
        for each in self._tasks.values():
            if each.future is not None:
                self._notice_end(each)
            if each.future is None and not each.is_done:
                self._hand_out(each)

    def _notice_end(self, each: _Submitted) -> None:
        """Take or fetch the result of a task that is handed out, or note its loss."""
        status = each.future.status
        if each.result is not None and each.result.done():
            self._take(each, each.result)
        elif status == "finished":
            self._fetch(each)
        elif status == "error":
            self._failed(each, each.future.exception())
        elif status != "pending":
            self._lost(each)  # or cancelled

    def _hand_out(self, each: _Submitted) -> None:
        each.future = self._connection.submit(
            each.task.call,
            *each.task.arguments(each.attempt),
            key=f"playout-train-{self.run}-{each.task.name}-{each.attempt}",
            cores=1,
            resource=on_worker.TRAINING_CORES,
        )
        each.future.add_done_callback(lambda _: self._changed.set())

    def _lost(self, each: _Submitted) -> None:
        """Forget an attempt; the next one has another name."""
        each.future = each.result = each.worker = None
        each.attempt += 1
        each.evaluations = 0
        each.has_begun = False
        self._again += 1

    def _fetch(self, each: _Submitted) -> None:
        if each.result is None:
            each.result = self._connection.later(self._connection.result, each.future)
            each.result.add_done_callback(lambda _: self._changed.set())

    def _take(self, each: _Submitted, result: Future[Any]) -> None:
        if error := result.exception():
            self._not_fetched(each, error)
        elif result.result() is None:  # it was interrupted: its worker is about to leave
            self._lost(each)
        else:
            each.task.take(result.result())
            each.is_done = True
            each.future = each.result = None

    def _not_fetched(self, each: _Submitted, error: BaseException) -> None:
        if each.worker not in self._workers:  # its loss was shown
            self._lost(each)
            return
        why = str(error) or type(error).__name__
        self._failed(each, f"its result is lost: {why}")
        self._say(f"The result of {each.task.name} is lost ({why}): it is played again")

    def _failed(self, each: _Submitted, why: object) -> None:
        """Count a failure. Raises TrainingError for the last allowed one."""
        each.failures += 1
        if each.failures >= ATTEMPTS:
            where = each.worker or "a worker"
            raise TrainingError(f"{where} cannot play {each.task.name}: {why}")
        self._lost(each)

    # The cluster.

    def _notice_connection(self, now: float) -> None:
        was_connected, self._is_connected = self._is_connected, self._connection.poll(now)
        if was_connected and not self._is_connected:
            self._say("The connection to the scheduler of Dask is lost; trying again ...")
            self._workers.clear()
            self._checks.clear()
            self._kept.clear()
            for each in self._tasks.values():
                if not each.is_done:
                    self._lost(each)
        elif self._is_connected and not was_connected:
            self._say("The scheduler of Dask is back")

    def _received(self, message: Message) -> None:
        match message:
            case {"action": "add-worker", "worker": address}:
                self._checks.start([address])
            case {"action": "remove-worker", "worker": address}:
                self._worker_lost(address)
            case {"task": name, "attempt": attempt} if name in self._tasks:
                if attempt == self._tasks[name].attempt:
                    self._progressed(self._tasks[name], message)

    def _progressed(self, each: _Submitted, message: Message) -> None:
        match message:
            case {"started": worker}:
                self._again += each.has_begun  # Dask has moved it
                each.has_begun = True
                each.worker = worker
                each.evaluations = 0
            case {"evaluations": evaluations}:
                each.evaluations = evaluations

    def _worker_lost(self, address: str) -> None:
        self._checks.worker_lost(address)
        for each in self._tasks.values():
            if each.worker == address and not each.is_done:
                each.worker = None  # Dask moves it; without another worker it waits
                each.evaluations = 0
        if self._workers.pop(address, None) is not None:
            left = f"{counted(self._all_cores, 'core')} left"
            rest = left if self._all_cores else "none is left; waiting for one to join"
            self._say(f"Worker {address} is gone: {rest}")

    def _joined(self, worker: TrainingWorker) -> None:
        for fault in worker.faults:
            self._say(f"Worker {worker.address} gets no tasks: {fault}")
        if worker.address not in self._workers and worker.cores:
            self._workers[worker.address] = worker.cores
            self._say(f"Worker {worker.address} has joined: {counted(self._all_cores, 'core')}")
            self._submit_waiting_again()

    def _submit_waiting_again(self) -> None:
        """Use the cores of a new worker: Dask does not give it tasks that waited before."""
        self._kept = {name: it for name, it in self._kept.items() if it.status == "finished"}
        waiting = [each for each in self._tasks.values() if _waits(each)]
        self._connection.cancel(each.future for each in waiting)
        for each in waiting:
            self._again += each.has_begun
            each.has_begun = False
            each.future = each.result = None
            each.attempt += 1


def _waits(task: _Submitted) -> bool:
    """Return whether a task was handed out, and is neither on a worker nor done."""
    return task.future is not None and task.worker is None and task.future.status == "pending"
