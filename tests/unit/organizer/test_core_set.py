"""The reasons why a worker cannot run the entrants, and the core of a worker on this machine."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import pytest

pytest.importorskip("distributed")

from playout.protocol.tournament_spec import Entrant
from playout.sandbox import machine
from playout.server.organizer.core_set import ClusterJob, entrant_faults, keep_to_one, unreachable
from playout.server.organizer.cores import assign
from support.fixtures import spec
from support.waiting import wait_until
from testbed.machine import reserve_port

CORES = os.sched_getaffinity(0)
needs_two_cores = pytest.mark.skipif(len(CORES) < 2, reason="it needs two cores")


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> ClusterJob:
    """An order for entrants that can run here."""
    monkeypatch.setattr("playout.server.organizer.core_set.unreachable", lambda *_: "")
    return ClusterJob(spec(), ("10.1.2.3", 4242), {}, {}, {})


def with_entrant(job: ClusterJob, entrant: Entrant) -> ClusterJob:
    return replace(job, spec=replace(job.spec, entrants=(entrant,)))


def test_a_worker_that_can_run_the_entrants_has_no_fault(job: ClusterJob) -> None:
    job = with_entrant(job, Entrant("cat", "1", command="cat -"))
    assert entrant_faults(job, time.time()) == []


def test_a_program_that_is_missing_is_named_once(job: ClusterJob) -> None:
    job = with_entrant(job, Entrant("rhino", "1", command="no-rhino -x"))
    (fault,) = entrant_faults(job, time.time())
    assert fault == "there is no program 'no-rhino' that can be run: install it there"


def test_a_server_that_cannot_be_reached_is_named(
    job: ClusterJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "playout.server.organizer.core_set.unreachable"
    monkeypatch.setattr(path, lambda *_: "Connection refused")
    (fault,) = entrant_faults(job, time.time())
    expected = "it cannot connect to the server at 10.1.2.3:4242 (Connection refused): use a server"
    assert fault.startswith(expected)


def test_a_sandbox_that_cannot_be_enforced_is_a_fault(
    job: ClusterJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    def require(_: object) -> None:
        raise machine.SandboxError("bubblewrap cannot be enforced on this machine")

    monkeypatch.setattr(machine, "require", require)
    job = with_entrant(job, Entrant("cat", "1", command="cat -", protocol="lines", sandbox=True))
    faults = entrant_faults(job, time.time())
    assert faults == ["bubblewrap cannot be enforced on this machine"]


@pytest.mark.parametrize(
    ("ahead_s", "expected"), [(-3600, "60 minutes behind"), (3600, "60 minutes ahead"), (50, "")]
)
def test_a_clock_that_differs_by_more_than_a_minute_is_a_fault(
    job: ClusterJob, ahead_s: float, expected: str
) -> None:
    faults = entrant_faults(job, time.time() - ahead_s)
    text = f"its clock is {expected}: set it"
    assert [text in each for each in faults] == [True] * bool(expected)


def test_a_port_on_which_nothing_listens_is_unreachable() -> None:
    assert unreachable(("127.0.0.1", reserve_port())) == "Connection refused"


@pytest.fixture
def threads() -> Iterator[list[ThreadPoolExecutor]]:
    """A thread, as a worker has for its tasks: it may run on all of its cores."""
    with ThreadPoolExecutor(1) as one:
        yield [one]


@needs_two_cores
def test_a_worker_on_this_machine_is_kept_to_the_core_of_its_number(
    threads: list[ThreadPoolExecutor],
) -> None:
    assert threads[0].submit(os.sched_getaffinity, 0).result() == CORES
    try:
        keep_to_one(SimpleNamespace(name=str(len(CORES) + 1)))
        assert os.sched_getaffinity(0) == {sorted(CORES)[1]}
        assert threads[0].submit(os.sched_getaffinity, 0).result() == {sorted(CORES)[1]}
    finally:
        assign(os.getpid(), CORES)


@needs_two_cores
def test_a_thread_that_ends_meanwhile_keeps_no_other_from_being_moved(
    threads: list[ThreadPoolExecutor], monkeypatch: pytest.MonkeyPatch
) -> None:
    threads[0].submit(os.sched_getaffinity, 0).result()  # it has begun
    ended = threading.Thread(target=lambda: None)
    ended.start()
    ended.join()
    listed = os.listdir
    wait_until(lambda: str(ended.native_id) not in listed("/proc/self/task"))
    monkeypatch.setattr(os, "listdir", lambda path: [str(ended.native_id), *listed(path)])
    try:
        assign(os.getpid(), {sorted(CORES)[1]})
        assert threads[0].submit(os.sched_getaffinity, 0).result() == {sorted(CORES)[1]}
    finally:
        assign(os.getpid(), CORES)
