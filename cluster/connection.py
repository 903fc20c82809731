"""The connection to the scheduler of a Dask cluster, which is made again when it is lost.

The client of Dask has a thread of its own, and some of its calls wait for an answer. Other threads
make such calls, because the runner must not wait; messages are collected in a queue.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import threading
import time
import warnings
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Any

from distributed import Client
from distributed.comm.addressing import get_address_host_port

from playout.cluster.on_worker import ENTRANT_CORES
from playout.commands.restarts import BackOff, Restarts

#: Seconds in which the scheduler must answer.
CONNECT_S = 10
#: Seconds in which a worker must answer: less than Dask takes to give up connecting to it.
ANSWER_S = 20
#: Seconds in which a worker must send a result: several share the network.
RESULT_S = 60
#: The most questions that wait at a time, and the most other calls: some workers do not answer.
_CALLS = 64
#: Seconds between two messages that the client sends to itself.
_PAUSE_S = 0.01
_BACK_OFF = BackOff(first_s=0.2, longest_s=10.0)
#: The loggers of Dask that write to the terminal, each with a level of its own.
_LOGGERS = ("distributed", "distributed.client")
#: The topic of Dask with the workers that join and leave.
_ALL = "all"

#: A message of a core set, or of the scheduler about a worker.
Message = Mapping[str, Any]


class NoAnswerError(TimeoutError):
    """A worker has not answered in time."""


class DaskConnection:
    """A client of the scheduler at an address."""

    def __init__(self, address: str, *, at_once: bool = True) -> None:
        """Connect, or let `poll` do that. Raises OSError, and ValueError for an invalid address."""
        get_address_host_port(address)  # Dask's client would wait for 20 seconds first
        for logger in _LOGGERS:
            logging.getLogger(logger).setLevel(logging.CRITICAL + 1)  # the runner tells the user
        warnings.filterwarnings("ignore", "Sending large graph")  # by `keep`, once for each content
        self.address = address
        self._topics: list[str] = [_ALL]
        self._messages = SimpleQueue[Message]()
        self._threads = ThreadPoolExecutor(_CALLS, "playout-dask")
        #: Threads for questions: silent workers are asked again and again, and nothing else waits.
        self._questions = ThreadPoolExecutor(_CALLS, "playout-dask-questions")
        self._attempt: Future[Client] | None = None
        self._restarts = Restarts(_BACK_OFF)
        #: Dask's stream from the scheduler. Dask replaces a lost one, without our topics.
        self._stream: Any = None
        self._silent: set[str] = set()
        self._client: Client | None = self._connected() if at_once else None

    def poll(self, now: float) -> bool:
        """Return whether it is connected; if not, connect again when that is due.

        To be called often. After each loss it returns False once at least, also if Dask has
        connected again meanwhile: the scheduler may be another one. When the connection is back,
        there is a message for each worker.
        """
        if client := self._client:
            if client.status == "running" and client.scheduler_comm is self._stream:
                return True
            self._threads.submit(client.close, CONNECT_S)
            self._client = None
            return False
        if self._attempt is None and self._restarts.is_due(now):
            self._attempt = self._threads.submit(self._reconnected)
        if self._attempt and self._attempt.done():
            attempt, self._attempt = self._attempt, None
            if attempt.exception():
                self._restarts.failed(now)
            else:
                self._client = attempt.result()
                self._restarts.succeeded()
        return self._client is not None

    def subscribe(self, topic: str) -> None:
        """Collect the messages under a further topic."""
        self._topics.append(topic)
        if self._client:
            self._listen(self._client, topic)

    def messages(self) -> Iterator[Message]:
        """Yield the messages received since the last call."""
        with contextlib.suppress(Empty):
            while True:
                yield self._messages.get_nowait()

    def submit(
        self,
        call: Callable[..., Any],
        *arguments: object,
        key: str,
        cores: int,
        resource: str = ENTRANT_CORES,
    ) -> Any:
        """Submit a task that needs some cores of a worker, and return Dask's future of it.

        `resource` is the name under which workers offer these cores. Dask runs one task for a key.
        """
        assert self._client
        resources = {resource: cores}
        return self._client.submit(call, *arguments, key=key, resources=resources, pure=False)

    def keep(self, content: bytes, key: str, resource: str) -> Any:
        """Have the cluster keep data under a key, for tasks that get the future as an argument.

        Only workers that offer cores as `resource` keep them: others may not even answer. The data
        pass through the scheduler once, and then from worker to worker as needed. If the workers
        that had them are lost, Dask makes them again from the task.
        """
        assert self._client
        return self._client.submit(bytes, content, key=key, resources={resource: 0}, pure=False)

    def result(self, future: Any) -> Any:
        """Return the result of a task that is done. Waits at most `RESULT_S` seconds.

        Raises TimeoutError, and other errors of Dask if its worker is lost.
        """
        try:
            return future.result(timeout=RESULT_S)
        except TimeoutError as error:
            raise TimeoutError(f"it was not received within {RESULT_S:g} s") from error

    def run(
        self, call: Callable[..., Any], *arguments: object, workers: Iterable[str] | None = None
    ) -> Mapping[str, Any]:
        """Call a function on workers, by default on all; return the results by address.

        Waits at most `ANSWER_S` seconds for each. The result of a worker may be an error, such as
        NoAnswerError. Raises OSError.
        """
        assert self._client
        addresses = list(self._client.nthreads() if workers is None else workers)
        each = functools.partial(_answer, self._client, call, arguments)
        found: list[Mapping[str, Any]] = self._client.sync(_gathered, each, addresses)
        answers = {address: answer for one in found for address, answer in one.items()}
        self._note_silent(answers)
        return answers

    def is_silent(self, worker: str) -> bool:
        """Return whether a worker has not answered the last question."""
        return worker in self._silent

    def later(self, call: Callable[..., Any], *arguments: object) -> Future[Any]:
        """Call a function that waits, in another thread. Calls may end in another order."""
        return self._threads.submit(call, *arguments)

    def ask_later(self, call: Callable[..., Any], *arguments: object) -> Future[Any]:
        """Call a function that asks workers, as `later` does, in threads for questions."""
        return self._questions.submit(call, *arguments)

    @property
    def threads(self) -> int:
        """The present number of threads of all workers."""
        return sum(self._client.nthreads().values()) if self._client else 0

    @property
    def dashboard(self) -> str | None:
        """The address of Dask's own pages; None if the scheduler has none."""
        if self._client and "dashboard" in self._client.scheduler_info()["services"]:
            return str(self._client.dashboard_link)
        return None

    def cancel(self, futures: Iterable[Any]) -> None:
        """Have the scheduler cancel tasks, whose workers end them soon after."""
        if self._client and self._client.status == "running":
            self._client.cancel(list(futures), force=True)

    def close(self) -> None:
        """Close the connection, if it is open; the scheduler cancels the tasks that are left."""
        client, self._client = self._client, None
        if client and client.status == "running":
            for topic in self._topics:
                client.unsubscribe_topic(topic)
        if client:
            client.close(CONNECT_S)
        for threads in (self._threads, self._questions):
            threads.shutdown(wait=False, cancel_futures=True)

    def _connected(self) -> Client:
        """Return a new client. Raises OSError, ValueError."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about versions that differ: the checks report them
            client = Client(self.address, timeout=CONNECT_S, set_as_default=False)
        self._stream = client.scheduler_comm
        self._messages = SimpleQueue()
        for topic in self._topics:
            self._listen(client, topic)
        with _closed_on_error(client):
            _wait_for_messages(client)
        return client

    def _reconnected(self) -> Client:
        """Return a new client, with a message for each present worker. Raises OSError."""
        client = self._connected()
        with _closed_on_error(client):
            workers = client.sync(client.scheduler.ncores, callback_timeout=CONNECT_S)
        for address in workers:
            self._messages.put({"action": "add-worker", "worker": address})
        return client

    def _note_silent(self, answers: Mapping[str, Any]) -> None:
        for address, answer in answers.items():
            if isinstance(answer, NoAnswerError):
                self._silent.add(address)
            else:
                self._silent.discard(address)

    def _listen(self, client: Client, topic: str) -> None:
        client.subscribe_topic(topic, functools.partial(_put, self._messages))


@contextlib.contextmanager
def _closed_on_error(client: Client) -> Iterator[None]:
    """Close the client if the block raises OSError."""
    try:
        yield
    except OSError:
        client.close(CONNECT_S)
        raise


def _wait_for_messages(client: Client) -> None:
    """Wait until messages of the subscribed topics reach the client. Raises OSError.

    The scheduler does not confirm a subscription.
    """
    heard = threading.Event()
    topic = f"playout-{client.id}"
    client.subscribe_topic(topic, lambda _: heard.set())
    give_up_at = time.monotonic() + CONNECT_S
    while not heard.wait(_PAUSE_S):
        if time.monotonic() > give_up_at:
            raise TimeoutError(f"the scheduler sends no messages for {CONNECT_S} s")
        send = client.scheduler.log_event
        client.sync(send, topic=topic, msg={}, callback_timeout=CONNECT_S)
    client.unsubscribe_topic(topic)


async def _gathered(
    call: Callable[[str], Awaitable[Mapping[str, Any]]], addresses: Iterable[str]
) -> list[Mapping[str, Any]]:
    return await asyncio.gather(*map(call, addresses))


async def _answer(
    client: Client, call: Callable[..., Any], arguments: Iterable[object], address: str
) -> Mapping[str, Any]:
    """Return the result of a function on a worker, or its error, by address. Raises OSError."""
    answer = client.run(call, *arguments, workers=[address], on_error="return")
    try:
        return await asyncio.wait_for(answer, ANSWER_S)
    except TimeoutError:
        return {address: NoAnswerError(f"it has not answered for {ANSWER_S:g} s")}
    except OSError:
        raise
    except Exception as error:  # of any class, if the answer cannot be decoded
        return {address: error}


def _put(messages: SimpleQueue[Message], event: tuple[float, Message]) -> None:
    messages.put(event[1])
