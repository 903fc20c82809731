"""Tasks on a worker have cores of their own where there are some."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("distributed")

from playout.cluster.workers import kept_to_cores

CORES = os.sched_getaffinity(0)
needs_two_cores = pytest.mark.skipif(len(CORES) < 2, reason="it needs two cores")


@pytest.fixture
def threads() -> Iterator[list[ThreadPoolExecutor]]:
    """Two threads, as a worker has for its tasks: they may run on all of its cores."""
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as two:
        yield [one, two]


def cores_in(number: int, threads: int = len(CORES)) -> set[int]:
    """The cores of a core set's thread, on a worker with that many threads."""
    with kept_to_cores(number, threads):
        return os.sched_getaffinity(0)


def cores_of_a_program() -> set[int]:
    """The cores of a program that this thread starts."""
    code = "import os; print(*os.sched_getaffinity(0))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    return set(map(int, done.stdout.split()))


@needs_two_cores
def test_core_sets_have_cores_of_their_own_until_they_end(
    threads: list[ThreadPoolExecutor],
) -> None:
    one, two = threads
    begun, over = threading.Event(), threading.Event()

    def first() -> set[int]:
        with kept_to_cores(1, len(CORES)):
            begun.set()
            over.wait()
            return cores_of_a_program()

    running = one.submit(first)
    begun.wait()
    others = two.submit(cores_in, len(CORES) - 1).result()
    with_too_few_free = two.submit(cores_in, len(CORES)).result()
    over.set()
    assert len(running.result()) == 1
    assert others == CORES - running.result()
    assert with_too_few_free == CORES
    assert one.submit(os.sched_getaffinity, 0).result() == CORES
    assert two.submit(cores_in, len(CORES)).result() == CORES, "the first was given back"


def test_cores_that_others_may_use_are_left_to_the_system(
    threads: list[ThreadPoolExecutor],
) -> None:
    assert threads[0].submit(cores_in, 1, len(CORES) + 1).result() == CORES
