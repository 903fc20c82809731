"""The reasons why a worker cannot run the entrants, and the core of a worker on this machine."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("distributed")

from playout.cluster.workers import packed, unpack
from playout.commands.cores import move
from playout.protocol.tournament_spec import Entrant
from playout.sandbox import machine
from playout.server.organizer.core_set import (
    ClusterJob,
    entrant_faults,
    keep_to_one,
    named_files,
    unreachable,
)
from support.fixtures import spec
from support.waiting import wait_until
from testbed.machine import reserve_port

NO_FILES = packed(Path(), ())
MINE = Entrant("Ann", "1", command="python bots/ann.py --book ../secret.txt")
OTHER = Entrant("Bob", "1", player="bob:Bob(net=nets/b.onnx,depth=3)")
CORES = os.sched_getaffinity(0)
needs_two_cores = pytest.mark.skipif(len(CORES) < 2, reason="it needs two cores")


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> ClusterJob:
    """An order for entrants that can run here."""
    monkeypatch.setattr("playout.server.organizer.core_set.unreachable", lambda *_: "")
    return ClusterJob(spec(), ("10.1.2.3", 4242), {}, {})


def with_entrant(job: ClusterJob, entrant: Entrant) -> ClusterJob:
    return replace(job, spec=replace(job.spec, entrants=(entrant,)))


def test_a_worker_that_can_run_the_entrants_has_no_fault(job: ClusterJob) -> None:
    job = with_entrant(job, Entrant("cat", "1", command="cat -"))
    assert entrant_faults(job, NO_FILES, time.time()) == []


def test_a_program_that_is_missing_is_named_once(job: ClusterJob) -> None:
    job = with_entrant(job, Entrant("rhino", "1", command="no-rhino -x"))
    (fault,) = entrant_faults(job, NO_FILES, time.time())
    assert fault == "there is no program 'no-rhino' that can be run: install it there"


def test_a_program_among_the_files_is_not_missing(job: ClusterJob, tmp_path: Path) -> None:
    program = tmp_path / "rhino"
    program.touch(0o755)
    job = with_entrant(job, Entrant("rhino", "1", command="./rhino"))
    files = packed(tmp_path, [program], without_content=True)
    assert entrant_faults(job, files, time.time()) == []
    assert len(entrant_faults(job, NO_FILES, time.time())) == 1


def test_the_files_that_entrants_name_travel_with_them(tmp_path: Path) -> None:
    folder = tmp_path / "tournament"
    names = ["bots/ann.py", "bob.py", "nets/b.onnx", "more/deep/x.bin", "unused.txt", "run.sh"]
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    (folder / "run.sh").chmod(0o755)
    (tmp_path / "secret.txt").write_text("outside")
    files = named_files((MINE, OTHER), folder, ("more", "run.sh"))
    assert found(folder, files) == sorted(set(names) - {"unused.txt"})
    there, outline = tmp_path / "there", tmp_path / "outline"
    unpack(packed(folder, files), there)
    unpack(packed(folder, files, without_content=True), outline)
    for other in (there, outline):
        assert found(other, other.rglob("*.*")) == found(folder, files)
        executable = [each.name for each in other.rglob("*.*") if os.access(each, os.X_OK)]
        assert executable == ["run.sh"]
    assert (there / "nets" / "b.onnx").read_text() == "nets/b.onnx"
    assert (outline / "nets" / "b.onnx").read_text() == ""


def found(folder: Path, files: Iterable[Path]) -> list[str]:
    return sorted(str(each.relative_to(folder)) for each in files)


def test_a_server_that_cannot_be_reached_is_named(
    job: ClusterJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "playout.server.organizer.core_set.unreachable"
    monkeypatch.setattr(path, lambda *_: "Connection refused")
    (fault,) = entrant_faults(job, NO_FILES, time.time())
    expected = "it cannot connect to the server at 10.1.2.3:4242 (Connection refused): use a server"
    assert fault.startswith(expected)


def test_a_sandbox_that_cannot_be_enforced_is_a_fault(
    job: ClusterJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    def require(_: object) -> None:
        raise machine.SandboxError("bubblewrap cannot be enforced on this machine")

    monkeypatch.setattr(machine, "require", require)
    job = with_entrant(job, Entrant("cat", "1", command="cat -", protocol="lines", sandbox=True))
    faults = entrant_faults(job, NO_FILES, time.time())
    assert faults == ["bubblewrap cannot be enforced on this machine"]


@pytest.mark.parametrize(
    ("ahead_s", "expected"), [(-3600, "60 minutes behind"), (3600, "60 minutes ahead"), (50, "")]
)
def test_a_clock_that_differs_by_more_than_a_minute_is_a_fault(
    job: ClusterJob, ahead_s: float, expected: str
) -> None:
    faults = entrant_faults(job, NO_FILES, time.time() - ahead_s)
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
        move(os.getpid(), CORES)


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
        move(os.getpid(), {sorted(CORES)[1]})
        assert threads[0].submit(os.sched_getaffinity, 0).result() == {sorted(CORES)[1]}
    finally:
        move(os.getpid(), CORES)
