"""Checks of workers before the first match, and of workers that join.

`ask` runs on the worker: it tries what an entrant needs. The worker has the Python and the Playout
of the runner then, as `worker_checks` has checked that first.
"""

from __future__ import annotations

import asyncio
import hashlib
import socket
import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from distributed import Worker

from playout.cluster import on_worker, worker_checks
from playout.cluster.connection import DaskConnection
from playout.protocol import versions
from playout.protocol.tournament_spec import SandboxSettings
from playout.sandbox import machine
from playout.server.organizer.cluster.core_set import unreachable
from playout.server.organizer.cluster.job import ClusterJob
from playout.server.organizer.spec_file import missing_program
from playout.server.tournament.results import SLOW

#: Seconds in which the server must answer.
_REACH_S = 5.0
#: The calibration: the fastest of some digests of a block, 1 to 5 ms each.
_BLOCK, _ROUNDS = bytes(2_000_000), 9
#: The largest tolerated difference of a worker's clock: certificates and logs depend on it, matches
#: do not.
_CLOCK_S = 60.0


@dataclass(frozen=True)
class WorkerAnswer:
    """The answer of a worker; `time` is its clock, in seconds since 1970.

    `code` identifies the installed games and players. `missing` are programs of entrants that do
    not exist there. `unreachable` is the reason why it cannot connect to the server, and `sandbox`
    why it cannot run sandboxed entrants; both are empty if it can. `speed` is in blocks of the
    calibration per second, on one core.
    """

    host: str
    code: str
    time: float
    missing: tuple[str, ...]
    unreachable: str
    speed: float
    cores: int
    sandbox: str = ""


async def ask(job: ClusterJob, dask_worker: Worker) -> WorkerAnswer:
    """Check what an entrant needs: its program, its files, the server; called on the worker."""
    return await asyncio.to_thread(_answer, job, dask_worker.state.nthreads)


def _answer(job: ClusterJob, cores: int) -> WorkerAnswer:
    return WorkerAnswer(
        host=socket.gethostname(),
        code=versions.installed(),
        time=time.time(),
        missing=_missing(job),
        sandbox=_sandbox(job),
        unreachable=unreachable(job.address, _REACH_S),
        speed=_speed(),
        cores=cores,
    )


def _missing(job: ClusterJob) -> tuple[str, ...]:
    """Return the programs of commands that do not exist here, also not in the job's files."""
    with tempfile.TemporaryDirectory(prefix="playout-check-") as folder:
        job.write_files(Path(folder))
        commands = [each for each in job.spec.entrants if each.command]
        found = dict.fromkeys(missing_program(each, Path(folder)) for each in commands)
    return tuple(filter(None, found))


def _sandbox(job: ClusterJob) -> str:
    """Return why this worker cannot run sandboxed entrants; empty if it can, or need not."""
    if any(each.sandbox for each in job.spec.entrants):
        try:
            machine.require(job.spec.sandbox or SandboxSettings())
        except machine.SandboxError as error:
            return str(error)
    return ""


def _speed() -> float:
    """Return the digests of a block per second: the best of some, without pauses."""
    best = min(_timed() for _ in range(_ROUNDS))
    return 1 / best


def _timed() -> float:
    began = time.perf_counter()
    hashlib.sha256(_BLOCK).digest()
    return time.perf_counter() - began


@dataclass(frozen=True)
class CheckedWorker:
    """A worker with its answer, which may be None, and a sentence for each fault."""

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
    """Check workers, by default all, and have those without faults offer their cores.

    Raises OSError.
    """
    other = worker_checks.other_software(connection, workers)
    able = [address for address, fault in other.items() if not fault]
    began = time.time()
    answers = connection.run(ask, job.outline, workers=able)
    ended = time.time()
    found = []
    for address, fault in sorted(other.items()):
        answer = answers.get(address)
        if isinstance(answer, WorkerAnswer):
            wrong = tuple(_faults(answer, job, began, ended))
            found.append(CheckedWorker(address, answer, wrong))
        else:
            found.append(CheckedWorker(address, None, (fault or worker_checks.no_answer(answer),)))
    good = [each.address for each in found if each.cores]
    failed = worker_checks.not_offered(connection, on_worker.ENTRANT_CORES, good)
    return [
        replace(each, faults=(failed[each.address],)) if each.address in failed else each
        for each in found
    ]


def _faults(answer: WorkerAnswer, job: ClusterJob, began: float, ended: float) -> Iterator[str]:
    if other := worker_checks.other_sources(answer.code):
        yield other
    for program in answer.missing:
        yield f"there is no program {program!r} that can be run: install it there"
    if answer.sandbox:
        yield answer.sandbox
    if answer.unreachable:
        host, port = job.address
        yield (
            f"it cannot connect to the server at {host}:{port} ({answer.unreachable}): use a "
            "server that it can reach, by --server HOST:PORT or [cluster] of a competition"
        )
    if not began - _CLOCK_S <= answer.time <= ended + _CLOCK_S:
        minutes = (answer.time - (began + ended) / 2) / 60
        how = "ahead" if minutes > 0 else "behind"
        yield f"its clock is {abs(minutes):.0f} minutes {how}: set it, for example with NTP"


def table(workers: Sequence[CheckedWorker]) -> str:
    """Return the workers with their faults, one a line; empty without faults."""
    rows = [
        (each.address, each.answer.host if each.answer else "", fault)
        for each in workers
        for fault in each.faults
    ]
    return worker_checks.fault_table(rows) if rows else ""


def slow_workers(workers: Sequence[CheckedWorker]) -> list[str]:
    """Return a sentence for each worker that is slower than most by the calibration."""
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
