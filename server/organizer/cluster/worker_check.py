"""What a worker is asked before it gets entrants; these functions run on the worker.

It has the Python and the Playout of the runner: `server.cluster.faults` has asked for that first.
"""

from __future__ import annotations

import asyncio
import hashlib
import shlex
import shutil
import socket
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from distributed import Worker

from server.client import program_files
from server.organizer.cluster.core_set import unreachable
from server.organizer.cluster.job import ClusterJob

#: Seconds in which the server must answer.
_REACH_S = 5.0
#: The calibration: the fastest of some digests of a block, 1 to 5 ms each.
_BLOCK, _ROUNDS = bytes(2_000_000), 9


@dataclass(frozen=True)
class WorkerAnswer:
    """What a worker says about itself; `time` is its clock, in seconds since 1970.

    `code` identifies the installed games and players. `missing` are programs of entrants that do
    not exist there. `unreachable`: why it cannot connect to the server; empty if it can. `speed`:
    blocks of the calibration per second, on one core.
    """

    host: str
    code: str
    time: float
    missing: tuple[str, ...]
    unreachable: str
    speed: float
    cores: int


async def ask(job: ClusterJob, dask_worker: Worker) -> WorkerAnswer:
    """Try what an entrant needs: its program, its files, the server."""
    return await asyncio.to_thread(_answer, job, dask_worker.state.nthreads)


def _answer(job: ClusterJob, cores: int) -> WorkerAnswer:
    return WorkerAnswer(
        host=socket.gethostname(),
        code=program_files.installed(),
        time=time.time(),
        missing=_missing(job),
        unreachable=unreachable(job.address, _REACH_S),
        speed=_speed(),
        cores=cores,
    )


def _missing(job: ClusterJob) -> tuple[str, ...]:
    """The programs of commands that do not exist here, with the files that travel."""
    commands = [each.command for each in job.spec.entrants if each.command]
    programs = dict.fromkeys(shlex.split(command)[0] for command in commands)
    with tempfile.TemporaryDirectory(prefix="playout-check-") as folder:
        job.write_files(Path(folder))
        return tuple(each for each in programs if not _exists(each, folder))


def _exists(program: str, folder: str) -> bool:
    where = str(Path(folder, program)) if "/" in program else program
    return shutil.which(where) is not None


def _speed() -> float:
    """Digests of a block per second: the best of some, so that a pause counts little."""
    best = min(_timed() for _ in range(_ROUNDS))
    return 1 / best


def _timed() -> float:
    began = time.perf_counter()
    hashlib.sha256(_BLOCK).digest()
    return time.perf_counter() - began
