"""The client of a Dask cluster: its connection, its workers and its tasks.

`Cluster.poll` is called again and again by one thread, and returns what has happened. A lost
connection to the scheduler is made again. Workers are listed again and again; a new one is checked
(`workers`), and gets tasks if it has no fault. A task that was lost with its worker or with the
scheduler is handed out again, until its function has returned or raised an error.

The client of Dask has a thread of its own, and some of its calls wait for an answer. Other threads
make such calls, because the runner must not wait; messages are collected in a queue.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import secrets
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import resource_tracker
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import click
from distributed import Client, LocalCluster
from distributed.comm.addressing import get_address_host_port

from playout.cluster import workers
from playout.cluster.workers import CheckedWorker, Need, NoAnswerError
from playout.commands.cores import usable_cores
from playout.commands.restarts import BackOff, Restarts
from playout.commands.text import counted

#: The address that stands for a new cluster on this machine.
LOCAL = "local"
#: Seconds in which the scheduler must answer.
CONNECT_S = 10
#: Seconds in which a worker must answer: less than Dask takes to give up connecting to it.
ANSWER_S = 20
#: Seconds in which a worker must send a result: several share the network.
RESULT_S = 60
#: Seconds between two lists of the workers.
_LIST_S = 0.5
#: The maximum number of questions that wait at a time, and of other calls: some workers do not
#: answer.
_CALLS = 64
#: Bytes of a content that is sent with each task: Dask prefers the workers that have a content, so
#: that all tasks would wait for cores of the first one.
_SMALL = 2**20
#: Seconds between two looks for the end of tasks.
_PAUSE_S = 0.05
_BACK_OFF = BackOff(first_s=0.2, longest_s=10.0)
#: The loggers of Dask that write to the terminal, each with a level of its own.
_LOGGERS = ("distributed", "distributed.client")
_NONE_LEFT = "none is left; waiting for one to join"
_HELP = "--dask needs the address that dask scheduler prints, as in tcp://10.0.0.1:8786"


@dataclass(frozen=True, eq=False)
class Content:
    """Data for arguments of tasks, which the cluster keeps while this object exists.

    Large ones pass through the scheduler once, and then from worker to worker. If the workers
    that had them are lost, they are sent again. The function gets bytes.
    """

    data: bytes


@dataclass(eq=False)
class Task:
    """A call on a worker: a function of a RunningTask and `arguments`, which needs `cores` cores.

    `worker` is the address where it runs, None while it waits. `name` is part of its key in Dask.
    """

    name: str
    call: Callable[..., Any]
    arguments: tuple[object, ...]
    cores: int = 1
    worker: str | None = None
    key: str = ""
    future: Any = None
    result: Future[Any] | None = None


class Connected(NamedTuple):
    """The scheduler has been connected to, for the first time or again."""


class Disconnected(NamedTuple):
    """The connection to the scheduler is lost, and with it all workers."""


class Joined(NamedTuple):
    """A worker has joined or answered, and was checked; it may have faults."""

    worker: CheckedWorker


class Left(NamedTuple):
    """A checked worker is gone."""

    worker: CheckedWorker


class Begun(NamedTuple):
    """A task has begun on `task.worker`."""

    task: Task


class Lost(NamedTuple):
    """The execution of a task was lost; the task is handed out again."""

    task: Task


class Said(NamedTuple):
    """A task has sent a message."""

    task: Task
    message: Mapping[str, Any]


class Done(NamedTuple):
    """The function of a task has returned."""

    task: Task
    result: Any


class Failed(NamedTuple):
    """The function of a task has raised an error, or its result was lost; it is not repeated.

    It may have failed on `task.worker`.
    """

    task: Task
    error: str


Event = Connected | Disconnected | Joined | Left | Begun | Lost | Said | Done | Failed


class Cluster:
    """The workers of a cluster that a tournament, a ladder or a training uses."""

    def __init__(self, address: str, *, at_once: bool = True) -> None:
        """Connect, or let `poll` do that. Raises OSError, and ValueError for an invalid address."""
        get_address_host_port(address)  # Dask's client would wait for 20 seconds first
        for logger in _LOGGERS:
            logging.getLogger(logger).setLevel(logging.CRITICAL + 1)  # the user is told by events
        warnings.filterwarnings("ignore", "Sending large graph")  # once for each Content
        self.address = address
        #: The workers that were checked, by address.
        self.workers: dict[str, CheckedWorker] = {}
        self.is_connected = True
        #: Distinguishes the tasks from those of other runs on the cluster.
        self._run = f"playout-{secrets.token_hex(8)}"
        self._need: Need | None = None
        #: The tasks that are not done, by key, and the number of keys that were used.
        self._tasks: dict[str, Task] = {}
        self._number = 0
        #: Dask's futures of contents.
        self._kept: WeakKeyDictionary[Content, Any] = WeakKeyDictionary()
        #: The executions that have begun and not ended: keys and workers.
        self._executing: set[tuple[str, str]] = set()
        self._messages = SimpleQueue[Mapping[str, Any]]()
        self._changed = threading.Event()
        self._threads = ThreadPoolExecutor(_CALLS, "playout-dask")
        #: Threads for questions: silent workers are asked again and again, and nothing else waits.
        self._questions = ThreadPoolExecutor(_CALLS, "playout-dask-questions")
        self._checks: dict[str, Future[CheckedWorker]] = {}
        self._listing: Future[Mapping[str, int]] | None = None
        self._list_at = 0.0
        self._attempt: Future[Client] | None = None
        self._restarts = Restarts(_BACK_OFF)
        #: Dask's stream from the scheduler. Dask replaces a lost one, without our topic.
        self._stream: Any = None
        self._client: Client | None = self._connect() if at_once else None

    @property
    def cores(self) -> int:
        """The number of cores of the workers without faults."""
        return sum(each.cores for each in tuple(self.workers.values()))

    def threads(self) -> Mapping[str, int]:
        """Return the threads of all workers, checked or not, by address. Raises OSError."""
        assert self._client
        found: Mapping[str, int] = self._client.nthreads()
        return found

    @property
    def dashboard(self) -> str | None:
        """The address of Dask's own pages; None if the scheduler has none."""
        if self._client and "dashboard" in self._client.scheduler_info()["services"]:
            return str(self._client.dashboard_link)
        return None

    def check(self, need: Need) -> list[CheckedWorker]:
        """Check all workers, and wait for their answers. Raises OSError.

        From now on, `poll` checks those that join.
        """
        self.need(need)
        self._checks = {}
        for address in self.threads():
            self._start_check(address)
        wait(self._checks.values())
        found = [each.result() for each in self._checks.values()]
        self._checks = {}
        self.workers = {each.address: each for each in found}
        for each in found:
            if each.is_silent:
                self._start_check(each.address)
        return found

    def need(self, need: Need) -> None:
        """Let `poll` check the workers for these needs."""
        self._need = need

    def submit(self, task: Task) -> Task:
        """Hand out a task, and return it."""
        self._number += 1
        task.key = f"{self._run}-{task.name}-{self._number}"
        self._tasks[task.key] = task
        task.future = task.result = task.worker = None
        if self._client:
            self._hand_out(task, self._client)
        return task

    def cancel(self, tasks: Iterable[Task]) -> None:
        """Cancel tasks, whose workers end them soon after. There are no more events of them."""
        cancelled = list(tasks)
        for each in cancelled:
            self._tasks.pop(each.key, None)
        self._cancel(each.future for each in cancelled)

    def ask(self, worker: str, call: Callable[..., Any], *arguments: object) -> object:
        """Return the result of a function that is called on a worker, or its error as a value.

        Waits at most `ANSWER_S` seconds; the error may be a NoAnswerError. If the worker is gone,
        the result is None. Raises OSError if the connection is lost.
        """
        if not (client := self._client):
            raise ConnectionError("there is no connection to the scheduler")
        answer: object = client.sync(_answer, client, worker, call, arguments)
        return answer

    def tell(self, call: Callable[..., Any], *arguments: object, worker: str | None = None) -> None:
        """Call a function on a worker, by default on all without faults, in another thread."""
        good = [each.address for each in self.workers.values() if each.cores]
        for each in good if worker is None else [worker]:
            self._questions.submit(self.ask, each, call, *arguments)

    def news(self, event: Event, users: str) -> list[str]:
        """Return lines for people about an event; `users` is a plural noun for the tasks."""
        scheduler = f"to the scheduler of Dask at {self.address}"
        match event:
            case Disconnected():
                return [f"No connection {scheduler}; trying again ..."]
            case Connected():
                return [f"Connected {scheduler}"]
            case Joined(worker) if worker.faults:
                return [f"Worker {worker.address} gets no {users}: {it}" for it in worker.faults]
            case Joined(worker):
                return [f"Worker {worker.address} has joined: {counted(self.cores, 'core')}"]
            case Left(worker) if worker.cores:
                left = f"{counted(self.cores, 'core')} left" if self.cores else _NONE_LEFT
                return [f"Worker {worker.address} is gone: {left}"]
        return []

    def wait(self, timeout_s: float) -> None:
        """Wait for a change that `poll` would return, at most some seconds."""
        self._changed.wait(timeout_s)
        self._changed.clear()

    def poll(self, now: float) -> list[Event]:
        """Return what has happened since the last call; to be called often.

        After each loss of the connection there is a Disconnected, also if Dask has connected again
        meanwhile: the scheduler may be another one.
        """
        events = list(self._poll_connection(now))
        if self._client:
            # Messages of a task arrive before its end.
            ended = [each for each in self._tasks.values() if _is_over(each)]
            events += self._poll_workers(self._client, now)
            events += self._received()
            for each in ended:
                events += self._poll_task(each)
            for each in self._tasks.values():
                if each.future is None:
                    self._hand_out(each, self._client)
        return events

    def stop(self, patience_s: float) -> None:
        """Cancel all tasks; wait until they have ended on the workers, at most some seconds."""
        self.cancel(self._tasks.values())
        give_up_at = time.monotonic() + patience_s
        while self._executing and self.is_connected and time.monotonic() < give_up_at:
            for _ in self._received():
                pass
            time.sleep(_PAUSE_S)

    def close(self) -> None:
        """Close the connection, if it is open; the scheduler cancels the tasks that are left."""
        client, self._client = self._client, None
        if client and client.status == "running":
            client.unsubscribe_topic(self._run)
        if client:
            client.close(CONNECT_S)
        for threads in (self._threads, self._questions):
            threads.shutdown(wait=False, cancel_futures=True)

    # The connection.

    def _connect(self) -> Client:
        """Return a new client. Raises OSError, ValueError."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about versions that differ: the checks report them
            client = Client(self.address, timeout=CONNECT_S, set_as_default=False)
        self._stream = client.scheduler_comm
        self._messages = SimpleQueue()
        client.subscribe_topic(self._run, functools.partial(self._put, self._messages))
        return client

    def _put(
        self, messages: SimpleQueue[Mapping[str, Any]], event: tuple[float, Mapping[str, Any]]
    ) -> None:
        messages.put(event[1])
        self._changed.set()

    def _poll_connection(self, now: float) -> Iterator[Event]:
        """Connect again if that is due."""
        was_connected, self.is_connected = self.is_connected, self._is_connected(now)
        if was_connected and not self.is_connected:
            self.workers.clear()
            self._checks.clear()
            self._executing.clear()
            self._kept.clear()
            self._listing = None
            yield Disconnected()
            for each in self._tasks.values():
                each.future = each.result = None
                yield from self._forget_execution(each)
        elif self.is_connected and not was_connected:
            yield Connected()

    def _is_connected(self, now: float) -> bool:
        if client := self._client:
            if client.status == "running" and client.scheduler_comm is self._stream:
                return True
            self._threads.submit(client.close, CONNECT_S)
            self._client = None
            return False
        if self._attempt is None and self._restarts.is_due(now):
            self._attempt = self._threads.submit(self._connect)
        if self._attempt and self._attempt.done():
            attempt, self._attempt = self._attempt, None
            if attempt.exception():
                self._restarts.failed(now)
            else:
                self._client = attempt.result()
                self._restarts.succeeded()
        return self._client is not None

    # Workers.

    def _poll_workers(self, client: Client, now: float) -> Iterator[Event]:
        """Notice workers that have joined, left or answered."""
        if self._listing and self._listing.done():
            listing, self._listing = self._listing, None
            if not listing.exception():
                yield from self._listed(listing.result().keys())
        if self._listing is None and now >= self._list_at:
            self._list_at = now + _LIST_S
            self._listing = self._threads.submit(client.nthreads)
        for address, check in list(self._checks.items()):
            if check.done():
                del self._checks[address]  # if it has failed, the worker is checked again
                if not check.exception():
                    yield from self._checked(check.result())

    def _listed(self, there: Iterable[str]) -> Iterator[Event]:
        known = self.workers.keys() | self._checks.keys()
        for address in known - set(there):
            yield from self._left(address)
        for address in set(there) - known:
            self._start_check(address)

    def _start_check(self, address: str) -> None:
        if self._need:
            check = self._questions.submit(workers.checked, self.ask, self._need, address)
            check.add_done_callback(lambda _: self._changed.set())
            self._checks[address] = check

    def _checked(self, worker: CheckedWorker) -> Iterator[Event]:
        """Note a worker. A silent one is checked again, and returned once until it answers."""
        before = self.workers.get(worker.address)
        self.workers[worker.address] = worker
        if worker.is_silent:
            self._start_check(worker.address)
        if not (worker.is_silent and before and before.is_silent):
            yield Joined(worker)
        if worker.cores:
            self._hand_out_waiting_again()

    def _left(self, address: str) -> Iterator[Event]:
        self._checks.pop(address, None)
        self._executing = {each for each in self._executing if each[1] != address}
        if worker := self.workers.pop(address, None):
            yield Left(worker)
        for each in self._tasks.values():
            if each.worker == address:
                yield from self._forget_execution(each)

    # Tasks.

    def _hand_out(self, task: Task, client: Client) -> None:
        assert self._need
        need = self._need

        def sent(each: object) -> object:
            if not isinstance(each, Content):
                return each
            return each.data if len(each.data) <= _SMALL else self._future_of(each, client, need)

        arguments = [sent(each) for each in task.arguments]
        task.future = client.submit(
            workers.execute,
            self._run,
            task.call,
            *arguments,
            key=task.key,
            resources={self._need.resource: task.cores},
            pure=False,
        )
        task.future.add_done_callback(lambda _: self._changed.set())

    def _future_of(self, content: Content, client: Client, need: Need) -> Any:
        """Return Dask's future of a content, for arguments of tasks.

        Only workers that offer cores keep it: others may not even answer.
        """
        if content not in self._kept:
            self._number += 1
            key, resources = f"{self._run}-content-{self._number}", {need.resource: 0}
            self._kept[content] = client.submit(
                bytes, content.data, key=key, resources=resources, pure=False
            )
        return self._kept[content]

    def _again(self, task: Task) -> None:
        """Hand out a task again, under another key: Dask runs one task for a key."""
        self._tasks.pop(task.key, None)
        self.submit(task)

    def _hand_out_waiting_again(self) -> None:
        """Hand out waiting tasks again: Dask does not give them cores that are offered later."""
        waiting = [
            each
            for each in self._tasks.values()
            if each.worker is None and each.future is not None and each.future.status == "pending"
        ]
        self._cancel([each.future for each in waiting])
        for content, future in list(self._kept.items()):
            if future.status != "finished":
                del self._kept[content]
        for each in waiting:
            self._again(each)

    def _cancel(self, futures: Iterable[Any]) -> None:
        given = [each for each in futures if each is not None]
        if given and self._client and self._client.status == "running":
            self._threads.submit(self._client.cancel, given, force=True)

    def _received(self) -> Iterator[Event]:
        """Handle the messages of tasks."""
        with contextlib.suppress(Empty):
            while True:
                message = self._messages.get_nowait()
                key, worker = message["task"], message["worker"]
                if "started" in message:
                    self._executing.add((key, worker))
                if "ended" in message:
                    self._executing.discard((key, worker))
                if task := self._tasks.get(key):
                    yield from self._said(task, worker, message)

    def _said(self, task: Task, worker: str, message: Mapping[str, Any]) -> Iterator[Event]:
        if "started" in message:
            yield from self._forget_execution(task)  # Dask has moved it before a loss was noticed
            task.worker = worker
            yield Begun(task)
        elif worker == task.worker and "ended" not in message:
            yield Said(task, message)

    def _forget_execution(self, task: Task) -> Iterator[Event]:
        if task.worker is not None:
            task.worker = None
            yield Lost(task)

    def _poll_task(self, task: Task) -> Iterator[Event]:
        """Fetch the result of a task that is over, or note its loss."""
        if task.key not in self._tasks or task.future is None:
            return
        status = task.future.status
        if task.result is not None and task.result.done():
            yield from self._fetched(task, task.result)
        elif status == "finished" and task.result is None:
            task.result = self._threads.submit(task.future.result, timeout=RESULT_S)
            task.result.add_done_callback(lambda _: self._changed.set())
        elif status == "error":
            del self._tasks[task.key]
            yield Failed(task, _text(task.future.exception()))
        elif status in ("cancelled", "lost"):
            yield from self._forget_execution(task)
            self._again(task)

    def _fetched(self, task: Task, result: Future[Any]) -> Iterator[Event]:
        error = result.exception()
        if error is None:
            del self._tasks[task.key]
            yield Done(task, result.result())
        elif task.worker in self.workers:
            del self._tasks[task.key]
            why = f"it was not received within {RESULT_S:g} s"
            text = why if isinstance(error, TimeoutError) else _text(error)
            yield Failed(task, f"its result is lost: {text}")
        else:
            yield from self._forget_execution(task)
            self._again(task)


def _is_over(task: Task) -> bool:
    return task.future is not None and (task.result is not None or task.future.status != "pending")


def _text(error: BaseException | None) -> str:
    return (str(error) if error else "") or type(error).__name__


async def _answer(
    client: Client, worker: str, call: Callable[..., Any], arguments: Iterable[object]
) -> object:
    """Return the result of a function on a worker, or its error. Raises OSError."""
    answers = client.run(call, *arguments, workers=[worker], on_error="return")
    try:
        return (await asyncio.wait_for(answers, ANSWER_S)).get(worker)
    except TimeoutError:
        return NoAnswerError(f"it has not answered for {ANSWER_S:g} s")
    except OSError:
        raise
    except Exception as error:  # of any class, if the answer cannot be decoded
        return error


@contextlib.contextmanager
def connected(address: str, workers: int = 0) -> Iterator[Cluster]:
    """Within the block, be connected to the cluster at an address, or to a new one here.

    A cluster on this machine has that many `workers`, by default one for each core. Raises
    ClickException if there is no scheduler, or if it has no worker.
    """
    with contextlib.ExitStack() as stack:
        if address == LOCAL:
            address = stack.enter_context(_local_cluster(workers or usable_cores()))
        try:
            cluster = Cluster(address)
        except TypeError as error:  # Dask's, for tls:// without settings
            raise click.ClickException(
                f"Dask has no certificates for {address}: give their files as distributed.comm.tls "
                "in its configuration"
            ) from error
        except (OSError, ValueError) as error:
            raise click.ClickException(
                f"there is no scheduler of Dask at {address} ({error}): {_HELP}"
            ) from error
        stack.callback(cluster.close)
        with clear_loss(cluster):
            has_workers = len(cluster.threads()) > 0
        if not has_workers:
            raise click.ClickException(
                f"the cluster at {address} has no workers: start some with dask worker"
            )
        yield cluster


def require_workers(
    cluster: Cluster, need: Need, users: str, show: Callable[[str], object]
) -> list[CheckedWorker]:
    """Check all workers, show a table of those with faults, and return all.

    `users` is a plural noun for the tasks. Raises ClickException if all have faults.
    """
    with clear_loss(cluster):
        checked = cluster.check(need)
    if table := workers.fault_table(checked):
        show(f"These workers get no {users}:\n{table}")
    if not cluster.cores:
        raise click.ClickException(f"no worker of the cluster can run the {users}")
    return checked


@contextlib.contextmanager
def clear_loss(cluster: Cluster) -> Iterator[None]:
    """Raise ClickException if the scheduler is lost in the block."""
    try:
        yield
    except OSError as error:
        raise click.ClickException(
            f"the connection to the scheduler of Dask at {cluster.address} is lost: start it "
            "again, and then this command"
        ) from error


@contextlib.contextmanager
def _local_cluster(workers: int) -> Iterator[str]:
    """Within the block, run a cluster with one thread for each worker; yield its address."""
    # The workers ignore Ctrl-C of the terminal; the runner ends them.
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    _start_silent_tracker()
    try:
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=0,  # entrants and self-play are processes of their own
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL + 1,
        )
    finally:
        signal.signal(signal.SIGINT, handler)
    with cluster:
        yield str(cluster.scheduler_address)


def _start_silent_tracker() -> None:
    """Start Python's resource tracker without its warnings.

    It would warn of semaphores of the workers after a command that Ctrl-C ends at once.
    """
    name = "PYTHONWARNINGS"
    before = os.environ.get(name)
    os.environ[name] = "ignore"
    try:
        resource_tracker.ensure_running()
    finally:
        del os.environ[name]
        os.environ.update({name: before} if before is not None else {})
