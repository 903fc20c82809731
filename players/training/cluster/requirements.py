"""What a worker needs to play for a training: one that lacks something gets no shards."""

from __future__ import annotations

import asyncio
import importlib.util
import socket
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from distributed import Worker

from playout.cluster import on_worker, worker_checks
from playout.cluster.connection import DaskConnection
from playout.players.nets.net import EXTRAS, installed
from playout.players.training.settings import ProcessSettings
from playout.protocol import versions

#: What Playout has to be installed with there.
_EXTRAS = "nets,cluster"


@dataclass(frozen=True)
class Installation:
    """What is installed on a worker: a digest of games and players, and runtimes of nets."""

    host: str
    code: str
    has_onnx: bool
    backends: tuple[str, ...]
    cores: int


@dataclass(frozen=True)
class TrainingWorker:
    """A worker, with a sentence for each fault; without faults it plays, on so many cores."""

    address: str
    host: str
    cores: int
    faults: tuple[str, ...]


async def ask(dask_worker: Worker) -> Installation:
    """Return what is installed here; called on a worker."""
    return await asyncio.to_thread(installation, dask_worker.state.nthreads)


def installation(cores: int) -> Installation:
    """Return what is installed for this process, which is to offer so many cores."""
    return Installation(
        host=socket.gethostname(),
        code=versions.installed(),
        has_onnx=importlib.util.find_spec("onnx") is not None,
        backends=tuple(installed()),
        cores=cores,
    )


def check(
    connection: DaskConnection, settings: ProcessSettings, workers: Iterable[str] | None = None
) -> list[TrainingWorker]:
    """Check workers, all of them by default, and let those without faults offer their cores.

    Raises OSError.
    """
    other = worker_checks.other_software(connection, workers, _EXTRAS)
    able = [address for address, fault in other.items() if not fault]
    answers = connection.run(ask, workers=able)
    found = [
        TrainingWorker(address, "", 0, (fault,))
        if fault
        else _checked(address, answers.get(address), settings)
        for address, fault in sorted(other.items())
    ]
    good = [each.address for each in found if each.cores]
    failed = worker_checks.not_offered(connection, on_worker.TRAINING_CORES, good, _EXTRAS)
    return [
        replace(each, cores=0, faults=(failed[each.address],)) if each.address in failed else each
        for each in found
    ]


def table(workers: Sequence[TrainingWorker]) -> str:
    """The workers with their faults, one a line; empty if there are no faults."""
    rows = [(each.address, each.host, fault) for each in workers for fault in each.faults]
    return worker_checks.fault_table(rows) if rows else ""


def _checked(address: str, answer: object, settings: ProcessSettings) -> TrainingWorker:
    if not isinstance(answer, Installation):
        return TrainingWorker(address, "", 0, (worker_checks.no_answer(answer, _EXTRAS),))
    found = tuple(_faults(answer, settings))
    return TrainingWorker(address, answer.host, 0 if found else answer.cores, found)


def _faults(answer: Installation, settings: ProcessSettings) -> Iterator[str]:
    if other := worker_checks.other_sources(answer.code):
        yield other
    wanted = [settings.backend] if settings.backend != "auto" else list(EXTRAS)
    if not answer.has_onnx or not set(wanted) & set(answer.backends):
        extra = EXTRAS[wanted[0]]
        lacking = " or ".join(wanted) if answer.has_onnx else "onnx"
        extras = ",".join(dict.fromkeys(("nets", extra)))
        install = f'pip install ".[{extras}]" in a checkout of Playout'
        yield f"it lacks the package {lacking}, which nets need: {install}"
