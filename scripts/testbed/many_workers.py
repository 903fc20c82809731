"""A Dask cluster on this machine, with up to hundreds of workers.

The scheduler is the program of Dask. The workers are complete, with connections, tasks and threads
of their own, but many may share a process: a process for each would need 100 MB. The measurements
of Dask itself, such as a profile of the tasks every 10 ms, are switched off.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import multiprocessing
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import dask
from distributed import Client, Worker

from testbed.machine import reserve_port

_PATIENCE_S = 300.0
_QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "10s",
}


@dataclass(frozen=True)
class LocalCluster:
    """The address of the scheduler, and the numbers of the processes."""

    address: str
    scheduler: int
    workers: Sequence[int]


@contextlib.contextmanager
def local_cluster(workers: int, *, in_a_process: int = 1) -> Iterator[LocalCluster]:
    """Run a scheduler and workers with a thread each, until the end of the block.

    `in_a_process`: the most workers of a process.
    """
    port = reserve_port()
    address = f"tcp://127.0.0.1:{port}"
    sizes = [min(in_a_process, workers - first) for first in range(0, workers, in_a_process)]
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_run_workers, args=(address, size)) for size in sizes]
    with _scheduler(port) as scheduler:
        try:
            for each in processes:
                each.start()
            with Client(address, timeout=_PATIENCE_S, set_as_default=False) as client:
                client.wait_for_workers(workers, _PATIENCE_S)
            yield LocalCluster(address, scheduler, [each.pid or 0 for each in processes])
        finally:
            for each in processes:
                each.kill()
                each.join()


@contextlib.contextmanager
def _scheduler(port: int) -> Iterator[int]:
    """Run a scheduler until the end of the block; yield the number of its process."""
    program = str(Path(sys.executable).with_name("dask"))
    options = ("--host", "127.0.0.1", "--port", str(port), "--no-dashboard", "--no-show")
    words, nowhere = [program, "scheduler", *options], subprocess.DEVNULL
    with subprocess.Popen(words, stdout=nowhere, stderr=nowhere) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def _run_workers(address: str, count: int) -> None:
    """Run some workers, until this process is killed."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with (
        contextlib.suppress(KeyboardInterrupt),
        tempfile.TemporaryDirectory(prefix="playout-workers-") as folder,
        dask.config.set(_QUIET),
    ):
        asyncio.run(_work(address, count, folder))


async def _work(address: str, count: int, folder: str) -> None:
    workers = [
        await Worker(address, nthreads=1, memory_limit=0, local_directory=folder, host="127.0.0.1")
        for _ in range(count)
    ]
    await asyncio.gather(*(each.finished() for each in workers))
