"""The machine and the software of a benchmark, and processes: resources, load, helpers."""

from __future__ import annotations

import contextlib
import os
import platform
import random
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Generic, TypeVar

import click

from playout.commands.cores import processor
from playout.players.comparison.workers import piped_process

_PACKAGES = ("playout", "numba", "numpy", "open_spiel", "twisted", "msgspec", "msgpack")
#: Ports below those that Linux assigns to outgoing connections. A client that retries to connect to
#: one of the latter, on which no process listens, may be assigned this port and reach itself.
_LISTENING = range(10_000, 32_000)
#: Sockets that stay open while this process runs; see `reserve_port`.
_reservations: list[socket.socket] = []
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
#: The kind of clock in the identifier of a process's CPU clock: see clock_getcpuclockid(3).
_SCHEDULED = 2


def described(command: str) -> dict[str, Any]:
    """Return the head of a document of results: command, commit, date, machine and versions.

    The versions are those of Python and of the installed packages that affect the numbers.
    """
    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            versions[name] = version(name)
    return {
        "command": " ".join([command, *sys.argv[1:]]),
        "commit": _commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "system": f"{platform.system()} {platform.release()} {platform.machine()}",
            "processor": processor(),
            "cores": len(os.sched_getaffinity(0)),
            "load": os.getloadavg()[0],
        },
        "versions": versions,
    }


def _commit() -> str:
    """Return the commit of the sources, with a plus if they were changed; empty if unknown."""
    describe = ["git", "describe", "--always", "--exclude=*", "--abbrev=10", "--dirty=+"]
    done = subprocess.run(
        describe, cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def headline(document: dict[str, Any]) -> str:
    """Return the head of a document of results as two lines of text."""
    host = document["machine"]
    numbers = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    return (
        f"{document['command']}, {document['date']}\n"
        f"{host['processor']}, {host['cores']} cores, "
        f"load {host['load']:.1f} at the start; {numbers}"
    )


@contextlib.contextmanager
def cores_apart(pid: int) -> Iterator[None]:
    """Pin this process to one core and the process `pid` to the others, until the end of the block.

    Otherwise Linux often wakes the receiver of a message on the core of the sender.
    """
    cores = os.sched_getaffinity(0)
    mine = {min(cores)}
    os.sched_setaffinity(pid, cores - mine or cores)
    os.sched_setaffinity(0, mine)
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def processor_seconds(pid: int, *, loop: bool = False) -> float:
    """Return the CPU seconds of a process and its children so far, in user and in system mode.

    With `loop`, only its main thread counts, which runs the event loop of a server.
    """
    if loop:
        return _ticks(f"/proc/{pid}/task/{pid}/stat") / _TICKS_A_SECOND
    return sum(map(own_processor_seconds, [pid, *children(pid)]))


def own_processor_seconds(pid: int) -> float:
    """Return the CPU seconds of a process so far, without its child processes."""
    return time.clock_gettime(~pid << 3 | _SCHEDULED)


def resident_kib(pid: int | None = None, *, without: str | None = None) -> int:
    """Return the resident memory (VmRSS) of a process, by default this one, and its children.

    Children that run the module `without` do not count.
    """
    pid = pid or os.getpid()
    counted = [each for each in children(pid) if not (without and runs(each, without))]
    return sum(map(_resident_kib, [pid, *counted]))


def reserve_port() -> int:
    """Return a free port for a server that may be stopped and started again on it.

    While this process runs, no other call of this function, in any process, returns the same port:
    the reservation is a name among the abstract Unix sockets of Linux.
    """
    while True:
        port = random.choice(_LISTENING)
        reservation = socket.socket(socket.AF_UNIX)
        try:
            reservation.bind(f"\0playout port {port}")
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            reservation.close()
        else:
            _reservations.append(reservation)
            return port


def _ticks(stat: str) -> int:
    fields = Path(stat).read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _resident_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1])


# Load on all cores, by processes that never wait.


#: A program that runs until its parent process, whose number it gets, ends.
SPIN = """
import os, sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(100_000):
        pass
"""


@contextlib.contextmanager
def busy_cores() -> Iterator[None]:
    """Run a busy process per core until the end of the block."""
    with contextlib.ExitStack() as stack:
        for _ in os.sched_getaffinity(0):
            stack.enter_context(_spinning())
        yield


@contextlib.contextmanager
def _spinning() -> Iterator[None]:
    command = [sys.executable, "-P", "-S", "-c", SPIN, str(os.getpid())]
    with subprocess.Popen(command, start_new_session=True) as process:
        try:
            yield
        finally:
            process.kill()


# The program that a process runs, and its child processes, as Linux shows them in /proc.


#: Characters of a process's name that Linux keeps.
_LENGTH = 15


def set_name(module: str) -> None:
    """Name this process after a module: a copy of a process has the command line of the other."""
    Path("/proc/self/comm").write_text(module[:_LENGTH])


def runs(process: int, module: str) -> bool:
    """Return whether a process, given by its number, runs the module."""
    folder = Path(f"/proc/{process}")
    with contextlib.suppress(OSError):
        name, _, state = (folder / "stat").read_text().partition("(")[2].rpartition(") ")
        if state[0] in "ZX":  # it has ended
            return False
        if name.startswith("python"):
            return module in (folder / "cmdline").read_text()
        return name == module[:_LENGTH]
    return False


def children(process: int) -> list[int]:
    """Return the child processes of a process; none if it has ended."""
    with contextlib.suppress(OSError):
        tasks = list(Path(f"/proc/{process}/task").iterdir())
        listed = [Path(task, "children").read_text().split() for task in tasks]
        return [int(each) for line in listed for each in line]
    return []


# Helper processes, for work that must not share the process of the benchmark.


@dataclass
class HelperReport:
    """What a helper process reports; `fault` describes a failure, or is empty."""

    fault: str = ""


R = TypeVar("R", bound=HelperReport)


class Helper(Generic[R]):
    """A helper process, which is sent words and answers with reports."""

    def __init__(self, name: str, pipe: Connection, answer_s: float) -> None:
        self._name = name
        self._pipe = pipe
        self._answer_s = answer_s

    def ask(self, word: str) -> None:
        """Send a word to the process of the helper."""
        self._pipe.send(word)

    def answer(self) -> R:
        """Return the next report. Raises ClickException for a fault, or without an answer."""
        report = self._report()
        if report.fault:
            raise click.ClickException(f"{self._name}: {report.fault}")
        return report

    def finish(self) -> R:
        """Send "finish", and return the last report, which may have a fault."""
        self.ask("finish")
        return self._report()

    def _report(self) -> R:
        with contextlib.suppress(EOFError):
            if self._pipe.poll(self._answer_s):
                report: R = self._pipe.recv()
                return report
        raise click.ClickException(f"{self._name} do not answer")


@contextlib.contextmanager
def helper(
    name: str,
    run: Callable[..., None],
    *arguments: object,
    answer_s: float,
    method: str = "spawn",
) -> Iterator[Helper[Any]]:
    """Call `run(*arguments, pipe)` in a process until the end of the block.

    It must answer within `answer_s` seconds. An exception is its last report.
    """
    with piped_process(_reporting, run, *arguments, method=method) as pipe:
        yield Helper(name, pipe, answer_s)


def _reporting(run: Callable[..., None], *arguments: Any) -> None:
    try:
        run(*arguments)
    except Exception:
        arguments[-1].send(HelperReport(traceback.format_exc()))
