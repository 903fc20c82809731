"""playout.cluster.cluster: which workers are there, and what becomes of tasks; without Dask."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import pytest

pytest.importorskip("distributed")

from playout.cluster import cluster as clusters
from playout.cluster.cluster import (
    Begun,
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
)
from playout.cluster.workers import CheckedWorker, Need
from support.waiting import wait_until


class Future:
    """A task of Dask."""

    def __init__(self, key: str, arguments: tuple[object, ...]) -> None:
        self.key = key
        self.arguments = arguments
        self.status = "pending"
        self.value: Any = None

    def add_done_callback(self, call: Callable[[Any], object]) -> None:
        """Call nothing: the test polls."""

    def result(self, timeout: float) -> Any:
        if isinstance(self.value, Exception):
            raise self.value
        return self.value

    def exception(self) -> Any:
        return self.value


class FakeClient:
    """The client of Dask, with the workers and the tasks of the scheduler."""

    def __init__(self) -> None:
        self.status = "running"
        self.scheduler_comm = object()
        self.there: dict[str, int] = {}
        self.submitted: list[Future] = []
        self.cancelled: list[Future] = []
        self.put: Callable[[tuple[float, Mapping[str, Any]]], None]

    def nthreads(self) -> dict[str, int]:
        return dict(self.there)

    def subscribe_topic(self, _: str, put: Any) -> None:
        self.put = put

    def unsubscribe_topic(self, _: str) -> None:
        """Nothing is sent after this."""

    def submit(self, _: object, *arguments: object, key: str, **__: object) -> Future:
        self.submitted.append(Future(key, arguments))
        return self.submitted[-1]

    def cancel(self, futures: list[Future], *, force: bool) -> None:
        assert force
        self.cancelled += futures

    def close(self, _: float) -> None:
        self.status = "closed"

    @property
    def tasks(self) -> list[Future]:
        """The tasks that were submitted, without contents."""
        return [each for each in self.submitted if "content" not in each.key]


class FakeCluster:
    """A cluster that is polled, its client, and the checks of workers, which the test ends."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.client = FakeClient()
        self.answers: dict[str, CheckedWorker] = {}
        #: All events so far.
        self.heard: list[Event] = []
        self._is_over = False
        self._now = itertools.count()
        self._changed = threading.Condition()
        monkeypatch.setattr(clusters, "_LIST_S", 0.0)
        monkeypatch.setattr(clusters, "Client", lambda *_, **__: self.client)
        monkeypatch.setattr("playout.cluster.workers.checked", self._check)
        self.cluster = Cluster("tcp://127.0.0.1:1")
        self.cluster.need(Need("cores", lambda _: []))

    def _check(self, _: object, __: Need, address: str) -> CheckedWorker:
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or address in self.answers)
            return self.answers.pop(address, CheckedWorker(address))

    def answer(self, address: str, *faults: str, is_silent: bool = False) -> None:
        """End the check of a worker, also a later one."""
        cores = 0 if faults else 1
        with self._changed:
            self.answers[address] = CheckedWorker(address, faults, "", cores, None, is_silent)
            self._changed.notify_all()

    def close(self) -> None:
        """End all threads."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        self.cluster.close()

    def poll(self) -> list[Event]:
        events = self.cluster.poll(next(self._now))
        self.heard += events
        return events

    def until_taken(self) -> None:
        """Poll until the checks have taken all answers."""
        wait_until(lambda: [self.poll()] and not self.answers, "the checks")

    def until(self, wanted: Callable[[Event], bool]) -> list[Event]:
        """Poll until there is such an event; return all events."""
        found: list[Event] = []

        def is_there() -> bool:
            found.extend(self.poll())
            return any(map(wanted, found))

        wait_until(is_there, "the event")
        return found

    def join(self, *addresses: str) -> None:
        for each in addresses:
            self.client.there[each] = 1
            self.answer(each)
            self.until(lambda event, each=each: is_joined(event, each))  # type: ignore[misc]

    def say(self, task: Task, worker: str, **fields: object) -> list[Event]:
        self.client.put((0.0, {"task": task.key, "worker": worker, **fields}))
        return self.poll()


def is_joined(event: Event, address: str) -> bool:
    return isinstance(event, Joined) and event.worker.address == address


def of(kind: type, event: Event) -> bool:
    return isinstance(event, kind)


@pytest.fixture
def setting(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    setting = FakeCluster(monkeypatch)
    yield setting
    setting.close()


@pytest.fixture
def task(setting: FakeCluster) -> Task:
    """A task that runs on worker a of two."""
    setting.join("a", "b")
    task = setting.cluster.submit(Task("one", print, ()))
    assert setting.say(task, "a", started=True) == [Begun(task)]
    return task


def test_no_check_waits_for_another(setting: FakeCluster) -> None:
    setting.client.there = {"slow": 1, "quick": 1}
    setting.answer("quick")
    setting.until(partial(is_joined, address="quick"))
    assert setting.cluster.cores == 1
    setting.answer("slow")
    setting.until(partial(is_joined, address="slow"))
    assert setting.cluster.cores == 2


def test_a_worker_that_was_lost_during_its_check_does_not_join(setting: FakeCluster) -> None:
    setting.client.there = {"a": 1}
    wait_until(lambda: setting.poll() or "a" in setting.cluster._checks, "the check")
    setting.client.there = {"b": 1}
    setting.answer("b")
    setting.until(partial(is_joined, address="b"))
    setting.answer("a")
    setting.until_taken()
    assert list(setting.cluster.workers) == ["b"]
    assert [each for each in setting.heard if is_joined(each, "a")] == []


def test_a_silent_worker_is_named_once_and_again_when_it_answers(setting: FakeCluster) -> None:
    setting.client.there = {"a": 1}
    for _ in range(3):
        setting.answer("a", "no answer", is_silent=True)
        setting.until_taken()
    setting.answer("a")
    setting.until(lambda event: isinstance(event, Joined) and event.worker.cores == 1)
    joined = [each.worker for each in setting.heard if isinstance(each, Joined)]
    assert [each.is_silent for each in joined] == [True, False]
    assert setting.cluster.cores == 1


def test_waiting_tasks_are_handed_out_again_when_a_worker_joins(
    setting: FakeCluster, task: Task
) -> None:
    waiting = setting.cluster.submit(Task("two", print, ()))
    before = waiting.key
    setting.join("c")
    assert [each.key for each in setting.client.tasks[2:]] == [waiting.key] != [before]
    wait_until(lambda: setting.client.cancelled, "the end of the attempt before")
    assert [each.key for each in setting.client.cancelled] == [before]
    assert task.worker == "a"


def test_a_task_that_dask_moves_is_lost_and_begins_again(setting: FakeCluster, task: Task) -> None:
    assert setting.say(task, "b", started=True) == [Lost(task), Begun(task)]
    assert setting.say(task, "a", text="late") == []
    assert setting.say(task, "b", text="hello") == [
        Said(task, {"task": task.key, "worker": "b", "text": "hello"})
    ]


def test_a_worker_that_leaves_loses_its_tasks(setting: FakeCluster, task: Task) -> None:
    del setting.client.there["a"]
    found = setting.until(partial(of, Lost))
    assert found == [Left(CheckedWorker("a", cores=1)), Lost(task)]
    assert task.worker is None


def test_a_result_arrives_once(setting: FakeCluster, task: Task) -> None:
    (future,) = setting.client.tasks
    future.status, future.value = "finished", 7
    assert setting.until(partial(of, Done)) == [Done(task, 7)]
    assert setting.poll() == []


def test_a_task_that_dask_cancels_is_handed_out_again(setting: FakeCluster, task: Task) -> None:
    (future,) = setting.client.tasks
    future.status = "cancelled"
    assert setting.poll() == [Lost(task)]
    assert [each.key for each in setting.client.tasks] == [future.key, task.key]


def test_a_result_that_is_lost_with_its_worker_is_no_failure(
    setting: FakeCluster, task: Task
) -> None:
    (future,) = setting.client.tasks
    future.status, future.value = "finished", TimeoutError()
    assert setting.until(partial(of, Failed)) == [
        Failed(task, "its result is lost: it was not received within 60 s")
    ]
    setting.cluster.submit(task)
    setting.say(task, "b", started=True)
    del setting.client.there["b"]
    setting.until(partial(of, Lost))
    key = task.key
    setting.client.tasks[-1].status = "finished"
    setting.client.tasks[-1].value = TimeoutError()
    wait_until(lambda: setting.poll() or task.key != key, "another attempt")


def test_an_error_of_a_task_is_told(setting: FakeCluster, task: Task) -> None:
    (future,) = setting.client.tasks
    future.status, future.value = "error", ValueError("wrong")
    assert setting.poll() == [Failed(task, "wrong")]


def test_a_small_content_goes_with_each_task_so_that_any_worker_may_get_it(
    setting: FakeCluster,
) -> None:
    setting.join("a")
    for name in "xy":
        setting.cluster.submit(Task(name, print, (Content(b"bot"), name)))
    assert [each.arguments[2:] for each in setting.client.submitted] == [
        (b"bot", "x"),
        (b"bot", "y"),
    ]


def test_a_large_content_is_sent_once_for_all_tasks_and_again_to_another_scheduler(
    setting: FakeCluster,
) -> None:
    setting.join("a")
    net = bytes(2**20 + 1)
    content = Content(net)
    tasks = [setting.cluster.submit(Task(name, print, (content, name))) for name in "xy"]
    first, *others = setting.client.submitted
    assert first.arguments == (net,)
    assert [each.arguments[2:] for each in others] == [(first, "x"), (first, "y")]
    assert setting.say(tasks[0], "a", started=True) == [Begun(tasks[0])]
    setting.client.status = "closed"
    assert setting.poll() == [Disconnected(), Lost(tasks[0])]
    assert not setting.cluster.workers
    setting.client = FakeClient()
    setting.until(partial(of, Connected))
    assert [each.arguments[0] for each in setting.client.submitted][:1] == [net]
    assert len(setting.client.tasks) == 2


def test_tasks_that_end_before_the_time_is_over_are_not_waited_for(
    setting: FakeCluster, task: Task
) -> None:
    setting.client.put((0.0, {"task": task.key, "worker": "a", "ended": True}))
    setting.cluster.stop(1e9)
    wait_until(lambda: len(setting.client.cancelled) == 1, "the cancellation")


def test_events_are_told_in_lines(setting: FakeCluster, task: Task) -> None:
    faulty = CheckedWorker("c", ("it is old", "it has no program"))
    good = CheckedWorker("d", cores=1)
    scheduler = "to the scheduler of Dask at tcp://127.0.0.1:1"
    told: list[tuple[Event, list[str]]] = [
        (Disconnected(), [f"No connection {scheduler}; trying again ..."]),
        (Connected(), [f"Connected {scheduler}"]),
        (Joined(faulty), [f"Worker c gets no tasks: {each}" for each in faulty.faults]),
        (Joined(good), ["Worker d has joined: 2 cores"]),
        (Left(faulty), []),
        (Left(good), ["Worker d is gone: 2 cores left"]),
        (Lost(task), []),
    ]
    for event, lines in told:
        assert setting.cluster.news(event, "tasks") == lines
    setting.cluster.workers.clear()
    (line,) = setting.cluster.news(Left(good), "tasks")
    assert line == "Worker d is gone: none is left; waiting for one to join"
