"""Workers of a cluster: their checks, and the functions that run on them.

A worker is checked before it gets tasks: Python, Playout, its games and players, and what the tasks
need, such as a program. A fault is a sentence for people. Workers without faults offer their cores
as a resource of Dask, which the tasks ask for. `execute` runs a task on a worker.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import platform
import socket
import tarfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from distributed import Status, Worker, get_worker
from rich.console import Console
from rich.table import Table
from rich.text import Text

from playout.commands.cores import Cores, kept_to
from playout.protocol import versions

_NAME = "playout"
#: The calibration: the fastest of some digests of a block, 1 to 5 ms each.
_BLOCK, _ROUNDS = bytes(2_000_000), 9
_RUNNING = (Status.running, Status.paused)
#: The states of a task that is wanted; 'long-running' has a thread beyond those of the worker.
_WANTED = ("executing", "long-running")
_SET_ASIDE = (
    "it was set aside, because its results disagree with those of the others: find out why, and "
    "start it again"
)
#: The cores of this worker.
_cores = Cores()

#: Asks a worker: calls a function on the worker at an address with arguments. Returns its result,
#: or its error as a value. Raises OSError if the connection is lost.
Ask = Callable[..., object]


class NoAnswerError(TimeoutError):
    """A worker has not answered in time."""


#: The function of a Need.
Faults = Callable[[float], Sequence[str]]


# Checks, by the client.


class Need(NamedTuple):
    """The requirements of tasks.

    `faults` is called on a worker with the time of the client, in seconds since 1970, and returns
    what the worker lacks, as sentences. `resource` is the name
    under which workers offer their cores, `extras` are those of Playout that they need.
    """

    resource: str
    faults: Faults
    extras: str = "cluster"


@dataclass(frozen=True)
class CheckedWorker:
    """A worker with its faults; it offers `cores` cores, none with a fault.

    `speed` is in blocks of the calibration per second, on one core. `is_silent`: it has not
    answered in time.
    """

    address: str
    faults: tuple[str, ...] = ()
    host: str = ""
    cores: int = 0
    speed: float | None = None
    is_silent: bool = False


def checked(ask: Ask, need: Need, address: str) -> CheckedWorker:
    """Check a worker, and have it offer its cores if it has no fault. Raises OSError.

    The first two questions are functions of Python, which exist everywhere: those of Playout may be
    missing on a worker, or differ.
    """
    python = ask(address, platform.python_version)
    if fault := _python_fault(python, need.extras):
        return _faulty(address, fault, python)
    playout = ask(address, version, _NAME)
    if fault := _playout_fault(playout, need.extras):
        return _faulty(address, fault, playout)
    answer = ask(address, examine, need, time.time())
    if not isinstance(answer, WorkerAnswer):
        return _faulty(address, no_answer(answer, need.extras), answer)
    faults = (*_source_faults(answer.code), *answer.faults)
    if faults:
        return CheckedWorker(address, faults, answer.host, speed=answer.speed)
    offered = ask(address, offer, need.resource)
    if offered is not None:
        return _faulty(address, no_answer(offered, need.extras), offered)
    return CheckedWorker(address, (), answer.host, answer.cores, answer.speed)


def _faulty(address: str, fault: str, answer: object) -> CheckedWorker:
    return CheckedWorker(address, (fault,), is_silent=isinstance(answer, NoAnswerError))


def _python_fault(answer: object, extras: str) -> str:
    mine = platform.python_version()
    if not isinstance(answer, str):
        return no_answer(answer, extras)
    if _minor(answer) == _minor(mine):
        return ""
    return f"it runs Python {answer}, and the runner {mine}: use the same minor version"


def _playout_fault(answer: object, extras: str) -> str:
    mine = version(_NAME)
    if not isinstance(answer, str):
        return no_answer(answer, extras)
    if answer == mine:
        return ""
    return f"it has Playout {answer}, and the runner {mine}: install the same"


def _source_faults(code: str) -> Iterator[str]:
    """Yield the fault of a worker unless its games and players have the digest of this machine."""
    if code != versions.installed():
        yield (
            f"its Playout {version(_NAME)} has other games or players than the runner's: install "
            "the same sources and plugins"
        )


def no_answer(answer: object, extras: str) -> str:
    """Return the fault of a worker without a valid answer, which may be an error."""
    is_missing = isinstance(answer, ModuleNotFoundError) and answer.name == _NAME
    if is_missing or isinstance(answer, PackageNotFoundError):
        return f'Playout is not installed there: pip install ".[{extras}]" in a checkout of Playout'
    if isinstance(answer, ImportError | AttributeError):
        return f"it has another version of Playout ({answer}): install the one of the runner"
    if isinstance(answer, TimeoutError):
        return f"it cannot be checked: {answer}"
    if isinstance(answer, Exception):
        return f"it cannot be checked: {type(answer).__name__}: {answer}"
    return "it cannot be checked: it is gone"


def fault_table(workers: Iterable[CheckedWorker]) -> str:
    """Return the workers that have faults as text, a line for each fault; empty without faults."""
    in_order = sorted(workers, key=lambda each: each.address)
    rows = [(each.address, each.host, fault) for each in in_order for fault in each.faults]
    if not rows:
        return ""
    shown = Table("worker", "host", box=None, pad_edge=False)
    shown.add_column("fault", overflow="fold")
    for row in rows:
        shown.add_row(*map(Text, row))  # not markup: the names of extras are in brackets
    console = Console(width=200, color_system=None)
    with console.capture() as captured:
        console.print(shown)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _minor(python: str) -> list[str]:
    return python.split(".")[:2]


# Checks, on a worker.


@dataclass(frozen=True)
class WorkerAnswer:
    """The answer of a worker: `code` is a digest of its games and players, `cores` its threads."""

    host: str
    code: str
    cores: int
    speed: float
    faults: tuple[str, ...]


async def examine(need: Need, time_s: float, dask_worker: Worker) -> WorkerAnswer:
    """Return the properties of this worker; called on the worker."""
    state = dask_worker.state
    if state.total_resources.get(need.resource) == 0:
        return WorkerAnswer(socket.gethostname(), versions.installed(), 0, 0.0, (_SET_ASIDE,))
    return await asyncio.to_thread(_answer, need.faults, time_s, state.nthreads)


def _answer(faults: Faults, time_s: float, cores: int) -> WorkerAnswer:
    code, found = versions.installed(), tuple(faults(time_s))
    return WorkerAnswer(socket.gethostname(), code, cores, _speed(), found)


def _speed() -> float:
    """Return the digests of a block per second: the best of some, without pauses."""
    return 1 / min(_timed() for _ in range(_ROUNDS))


def _timed() -> float:
    began = time.perf_counter()
    hashlib.sha256(_BLOCK).digest()
    return time.perf_counter() - began


async def offer(resource: str, dask_worker: Worker) -> None:
    """Have this worker offer its threads as a resource, unless it does; called on the worker."""
    if resource not in dask_worker.state.total_resources:
        await dask_worker.set_resources(**{resource: dask_worker.state.nthreads})


async def withhold(resource: str, dask_worker: Worker) -> None:
    """Have this worker offer nothing of a resource until it is started again; called on it."""
    await dask_worker.set_resources(**{resource: 0})


# Tasks, on a worker.


class RunningTask:
    """A task in its thread on a worker: the first argument of its function."""

    def __init__(self, topic: str) -> None:
        """`topic` is the topic of Dask for its messages."""
        self._topic = topic
        self._worker = get_worker()
        self.key = str(self._worker.get_current_task())

    @property
    def folder(self) -> Path:
        """The folder of the worker, which Dask removes, also that of a killed worker."""
        return Path(self._worker.local_directory)

    @property
    def threads(self) -> int:
        """The number of threads of the worker."""
        return int(self._worker.state.nthreads)

    def is_wanted(self) -> bool:
        """Return whether the worker is connected to the scheduler, which wants the task."""
        task = self._worker.state.tasks.get(self.key)
        return self._worker.status in _RUNNING and task is not None and task.state in _WANTED

    def say(self, **fields: object) -> None:
        """Send a message to the client."""
        message = {"task": self.key, "worker": self._worker.address, **fields}
        self._worker.log_event(self._topic, message)


def execute(topic: str, call: Callable[..., Any], *arguments: object) -> Any:
    """Call a function with a RunningTask and arguments, and report its start and its end."""
    task = RunningTask(topic)
    task.say(started=True)
    try:
        return call(task, *arguments)
    finally:
        task.say(ended=True)


def packed(folder: Path, paths: Iterable[Path], *, without_content: bool = False) -> bytes:
    """Return files and folders in a folder as an archive, for `unpack` on a worker.

    Raises OSError.
    """
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as packing:
        for path in paths:
            name = path.relative_to(folder)
            if without_content:
                member = packing.gettarinfo(path, str(name))
                member.size = 0
                packing.addfile(member)
            else:
                packing.add(path, str(name))
    return archive.getvalue()


def unpack(archive: bytes, folder: Path) -> None:
    """Write the files of an archive into a folder. Raises OSError."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as unpacking:
        unpacking.extractall(folder, filter="data")


@contextlib.contextmanager
def kept_to_cores(number: int, threads: int) -> Iterator[None]:
    """Restrict this thread, and the processes that it starts, to `number` free cores of the worker.

    Nothing is restricted if too few are free, or unless the worker has as many cores as `threads`:
    otherwise other programs may be using them.
    """
    if len(_cores.usable) != threads:
        yield
        return
    user = object()
    try:
        with kept_to(_cores.take(user, number, shared=False)):
            yield
    finally:
        _cores.give_back(user)
