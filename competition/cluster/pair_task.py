"""A task on a worker: a bot for a pair of matches on the ladder, on one core.

It starts `pair_process`, with the files of the bot in a folder of their own, and publishes what the
process reports. The process ends with the task, or with the worker if that is killed.
"""

from __future__ import annotations

import functools
import io
import os
import signal
import socket
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec
from distributed import get_worker
from msgspec import structs

from playout.cluster import on_worker
from playout.commands.subprocesses import (
    PLAYER_NICENESS,
    Process,
    own_environment,
    start_own,
    stop,
)
from playout.competition.bot_file import BotFile
from playout.competition.cluster.pair_process import PairOrder
from playout.server.organizer.cluster.core_set import kept_to_cores
from playout.server.organizer.cluster.job import ClusterJob
from playout.server.organizer.supervisor import engine_table

#: Seconds between two polls of a process.
_POLL_S = 0.1
_PROGRAM = "playout.competition.cluster.pair_process:main"
#: The processes of this worker with their standard inputs, by the keys of their tasks.
_here: dict[str, tuple[Process, socket.socket]] = {}


def play_pair(job: ClusterJob, order: PairOrder, bot: BotFile | None, files: bytes | None) -> None:
    """Play a pair of matches; called as a task. A `bot` has its packed files."""
    worker = get_worker()
    key = str(worker.get_current_task())
    is_wanted = functools.partial(on_worker.is_wanted, worker, key)

    def report(line: bytes) -> None:
        worker.log_event(job.topic, {"task": key, "worker": worker.address, "line": line})

    report(b"{}")
    # Dask deletes the files that a killed worker leaves in its folder.
    with (
        tempfile.TemporaryDirectory(dir=worker.local_directory) as name,
        kept_to_cores(job.cores, worker.state.nthreads),
    ):
        folder = Path(name)
        job.write_files(folder)
        if bot and files:
            order = _unpacked(order, bot, files, job, folder)
        log = folder / "reports"
        process, ours = _started(job, order, folder, log)
        _here[key] = process, ours
        try:
            with ours, log.open("rb") as written:
                while process.poll() is None and is_wanted():
                    for line in _new_lines(written):
                        report(line)
                    time.sleep(_POLL_S)
                for line in _new_lines(written):
                    report(line)
        finally:
            del _here[key]
            stop([process], 0.0)


def _unpacked(
    order: PairOrder, bot: BotFile, files: bytes, job: ClusterJob, folder: Path
) -> PairOrder:
    """Unpack the files of a bot, and return the order with the file that describes it."""
    code, engines = folder / "bot", folder / "engines.toml"
    with tarfile.open(fileobj=io.BytesIO(files)) as packed:
        packed.extractall(code, filter="data")
    assert job.spec.sandbox
    entrant = bot.entrant(order.name, order.version, code)
    engines.write_text(engine_table(entrant, bot.sandbox(job.spec.sandbox), folder))
    return structs.replace(order, engines=str(engines))


def _started(
    job: ClusterJob, order: PairOrder, folder: Path, log: Path
) -> tuple[Process, socket.socket]:
    """Start the process, and give it its order; return it with its standard input."""
    host, port = job.address
    where = {"PLAYOUT_HOST": host, "PLAYOUT_PORT": str(port)}
    ours, its = socket.socketpair()
    with its, log.open("ab") as output:
        process = start_own(
            _PROGRAM,
            environment=own_environment() | where | job.variables_in(folder),
            niceness=PLAYER_NICENESS,
            log=output,
            input_=its.fileno(),
        )
    ours.sendall(msgspec.json.encode(order) + b"\n")
    return process, ours


def _new_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the complete lines that were written since the last call."""
    while (line := file.readline()).endswith(b"\n"):
        yield line
    file.seek(-len(line), os.SEEK_CUR)


def give_session(key: str, session: str) -> None:
    """Give the process of a task its session; the host calls it outside of tasks."""
    if key in _here:
        _here[key][1].sendall(f"{session}\n".encode())


def interrupt(key: str) -> None:
    """Have the process of a task leave after the present match; called outside of tasks."""
    if key in _here:
        _here[key][0].send_signal(signal.SIGINT)


def packed(folder: Path) -> bytes:
    """Return the files in a folder as an archive."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as packing:
        packing.add(folder, arcname="")
    return archive.getvalue()
