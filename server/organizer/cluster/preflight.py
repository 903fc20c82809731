"""What is wrong with which worker: the checks before the first match, and of workers that join."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from server.cluster import faults, on_worker
from server.cluster.connection import DaskConnection
from server.organizer.cluster import worker_check
from server.organizer.cluster.job import ClusterJob
from server.organizer.cluster.worker_check import WorkerAnswer
from server.tournament.results import SLOW

#: Largest difference of a worker's clock: certificates and logs depend on it. Matches do not.
_CLOCK_S = 60.0


@dataclass(frozen=True)
class CheckedWorker:
    """A worker with its answer, None without one, and a sentence for each fault."""

    address: str
    answer: WorkerAnswer | None
    faults: tuple[str, ...]

    @property
    def cores(self) -> int:
        """The cores that it offers to entrants."""
        return self.answer.cores if self.answer and not self.faults else 0


def check(
    connection: DaskConnection, job: ClusterJob, workers: Iterable[str] | None = None
) -> list[CheckedWorker]:
    """Check workers, all of them by default, and let those without faults offer their cores.

    Raises OSError.
    """
    other = faults.other_software(connection, workers)
    able = [address for address, fault in other.items() if not fault]
    began = time.time()
    answers = connection.run(worker_check.ask, job.outline, workers=able)
    ended = time.time()
    found = []
    for address, fault in sorted(other.items()):
        answer = answers.get(address)
        if isinstance(answer, WorkerAnswer):
            wrong = tuple(_faults(answer, job, began, ended))
            found.append(CheckedWorker(address, answer, wrong))
        else:
            found.append(CheckedWorker(address, None, (fault or faults.no_answer(answer),)))
    good = [each.address for each in found if each.cores]
    failed = faults.not_offered(connection, on_worker.ENTRANT_CORES, good)
    return [
        replace(each, faults=(failed[each.address],)) if each.address in failed else each
        for each in found
    ]


def _faults(answer: WorkerAnswer, job: ClusterJob, began: float, ended: float) -> Iterator[str]:
    if other := faults.other_sources(answer.code):
        yield other
    for program in answer.missing:
        yield f"there is no program {program!r} that can be run: install it there"
    if answer.unreachable:
        host, port = job.address
        yield (
            f"it cannot connect to the server at {host}:{port} ({answer.unreachable}): use a "
            "server that it can reach, --server HOST:PORT"
        )
    if not began - _CLOCK_S <= answer.time <= ended + _CLOCK_S:
        minutes = (answer.time - (began + ended) / 2) / 60
        how = "ahead" if minutes > 0 else "behind"
        yield f"its clock is {abs(minutes):.0f} minutes {how}: set it, for example with NTP"


def table(workers: Sequence[CheckedWorker]) -> str:
    """The workers with their faults, one a line; empty if there are no faults."""
    rows = [
        (each.address, each.answer.host if each.answer else "", fault)
        for each in workers
        for fault in each.faults
    ]
    return faults.table(rows) if rows else ""


def slow_workers(workers: Sequence[CheckedWorker]) -> list[str]:
    """A sentence for each worker that is slower than others by the calibration."""
    good = [(each.address, each.answer) for each in workers if each.answer and not each.faults]
    if not good:
        return []
    usual = statistics.median(answer.speed for _, answer in good)
    return [
        f"worker {address} ({answer.host}) computes at {answer.speed / usual:.0%} of the median "
        "speed of the workers: players that think by the clock think less there"
        for address, answer in good
        if answer.speed < SLOW * usual
    ]
