"""Checks of workers of a cluster: a worker that lacks a requirement of trainings gets no tasks."""

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

#: The extras of Playout on a worker.
_EXTRAS = "nets,cluster"


@dataclass(frozen=True)
class Installation:
    """The installation of a worker: a digest of games and players, and runtimes of nets."""

    host: str
    code: str
    has_onnx: bool
    backends: tuple[str, ...]
    cores: int


@dataclass(frozen=True)
class TrainingWorker:
    """A worker, with a sentence for each fault; `cores` is 0 with faults."""

    address: str
    host: str
    cores: int
    faults: tuple[str, ...]


async def ask(dask_worker: Worker) -> Installation:
    """Return the installation of this worker; called on the worker."""
    return await asyncio.to_thread(installation, dask_worker.state.nthreads)


def installation(cores: int) -> Installation:
    """Return the installation of this process, which offers `cores` cores."""
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
    """Return the workers with their faults, one a line; empty without faults."""
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
