"""server.organizer.entrants: the two players of a match share cores, different matches do not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from playout.commands.cores import usable_cores
from playout.protocol.tournament_spec import TournamentSpec
from playout.server.organizer.entrants import TournamentCores
from support.organizer import read

SLEEPS = ["sleep", "60"]
USABLE = os.sched_getaffinity(0)

Process = subprocess.Popen[bytes]


@pytest.fixture
def processes() -> Iterator[list[Process]]:
    """Four, which do nothing."""
    started = [subprocess.Popen(SLEEPS) for _ in range(4)]
    yield started
    for each in started:
        each.kill()
        each.wait()


def tournament(concurrency: int) -> TournamentSpec:
    text = """
        name = "two"
        games = ["nim"]
        format = "match"
        [[entrants]]
        name = "Ann"
        player = "random"
        [[entrants]]
        name = "Bob"
        player = "random"
    """
    return replace(read(text), concurrency=concurrency)


def kept(process: Process) -> set[int]:
    return os.sched_getaffinity(process.pid)


needs_two_cores = pytest.mark.skipif(len(USABLE) < 2, reason="it needs two cores")


@needs_two_cores
def test_matches_that_need_all_cores_have_their_own(processes: list[Process]) -> None:
    cores = TournamentCores(tournament(len(USABLE)))
    cores.match_started("a", processes[:2])
    cores.match_started("b", processes[2:])
    first, second, third, fourth = map(kept, processes)
    assert first == second
    assert third == fourth
    assert len(first) == len(third) == 1
    assert not first & third
    cores.match_ended("a")
    cores.match_started("c", [processes[3]])
    assert kept(processes[3]) == first, "what is over leaves its cores to the next"


@needs_two_cores
def test_a_tournament_that_leaves_cores_idle_leaves_all_to_the_system(
    processes: list[Process],
) -> None:
    for concurrency in (len(USABLE) - 1, len(USABLE) + 1):
        cores = TournamentCores(tournament(concurrency))
        cores.match_started("a", processes)
        assert all(kept(each) == USABLE for each in processes)
        cores.match_ended("a")


@needs_two_cores
def test_a_match_is_not_given_cores_twice_and_one_that_is_unknown_has_none(
    processes: list[Process],
) -> None:
    cores = TournamentCores(tournament(len(USABLE)))
    cores.match_ended("never begun")
    for _ in range(len(USABLE) + 1):
        cores.match_started("a", processes[:1])
    cores.match_started("b", processes[1:2])
    assert not kept(processes[0]) & kept(processes[1])


@needs_two_cores
def test_threads_that_are_there_already_are_moved_too() -> None:
    code = (
        "import threading, time; threading.Thread(target=time.sleep, args=(60,)).start();"
        "print(flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        cores = TournamentCores(tournament(len(USABLE)))
        cores.match_started("a", [process])
        threads = [int(each) for each in os.listdir(f"/proc/{process.pid}/task")]
        assert len(threads) == 2
        assert len({frozenset(os.sched_getaffinity(each)) for each in threads}) == 1
        assert len(kept(process)) == 1
        process.kill()


def test_one_that_has_ended_is_no_fault(processes: list[Process]) -> None:
    processes[0].kill()
    processes[0].wait()
    TournamentCores(tournament(usable_cores())).match_started("a", processes[:1])
