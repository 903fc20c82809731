"""Facts about the machine and the software of a benchmark, and the resources of processes."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import platform
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

_PACKAGES = ("playout", "numba", "numpy", "open_spiel", "twisted", "msgspec", "msgpack")
#: Ports below those that Linux assigns to outgoing connections: while no process listens on one of
#: the latter, a client that retries may be assigned the port that it calls, and reach itself.
_LISTENING = range(10_000, 32_000)
#: Open as long as this process runs; see `reserve_port`.
_reservations: list[socket.socket] = []
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
#: The kind of CPU clock in the identifier of the clock of a process: clock_getcpuclockid(3).
_SCHEDULED = 2


def machine() -> dict[str, str | int | float]:
    """Return the system, the processor, the cores of this process, and the load average."""
    return {
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
    }


def versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages that affect the numbers."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def described(command: str) -> dict[str, Any]:
    """Return the head of a document of results: command, date, machine and versions."""
    return {
        "command": " ".join([command, *sys.argv[1:]]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": versions(),
    }


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

    Otherwise both may share a core: Linux often wakes the receiver of a message on the sender's.
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
    """Return the CPU seconds of a process so far, in user and in system mode.

    Its child processes are included. With `loop`, only its main thread counts, which runs the event
    loop of a server.
    """
    if loop:
        return _ticks(f"/proc/{pid}/task/{pid}/stat") / _TICKS_A_SECOND
    return sum(map(own_processor_seconds, _family(pid)))


def own_processor_seconds(pid: int) -> float:
    """Return the CPU seconds of a process so far, without its child processes."""
    return time.clock_gettime(~pid << 3 | _SCHEDULED)


def resident_kib(pid: int | None = None) -> int:
    """Return the resident memory (VmRSS) of a process, by default this one, and its children."""
    return sum(_resident_kib(each) for each in _family(pid or os.getpid()))


def reserve_port() -> int:
    """Return a port for a server that may be stopped and started again on it.

    No server listens on the port, and no other process that calls this function is given it as long
    as this process runs: the reservation is a name among the abstract Unix sockets of Linux.
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


def _family(pid: int) -> list[int]:
    """Return a process and the children of its main thread, which start no others here."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [pid, *map(int, children.split())]


def _ticks(stat: str) -> int:
    fields = Path(stat).read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _resident_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1])


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"


# Load on all cores, by processes that never wait.


#: A program that runs until its parent process ends, for whatever reason.
SPIN = """
import os
parent = os.getppid()
while os.getppid() == parent:
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
    command = [sys.executable, "-P", "-S", "-c", SPIN]
    with subprocess.Popen(command, start_new_session=True) as process:
        try:
            yield
        finally:
            process.kill()


# Which program of Playout a process runs, by what Linux tells of it in /proc.


#: Linux keeps so many characters of a name.
_LENGTH = 15


def set_name(module: str) -> None:
    """Name this process, which is a copy of another and has its command line, by a module."""
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
    """Return the processes that a process has started and has not waited for; [] if it is gone."""
    with contextlib.suppress(OSError):
        tasks = list(Path(f"/proc/{process}/task").iterdir())
        listed = [Path(task, "children").read_text().split() for task in tasks]
        return [int(each) for line in listed for each in line]
    return []


# A helper process with a pipe to it, for work that must not share the benchmark's process.


@contextlib.contextmanager
def piped_process(
    run: Callable[..., None], *arguments: object, method: str = "spawn"
) -> Iterator[Connection]:
    """Call `run(*arguments, pipe)` in a process until the end of the block; yield our end.

    `method`: how multiprocessing starts the process.
    """
    context = multiprocessing.get_context(method)
    here, there = context.Pipe()
    process = context.Process(  # type: ignore[attr-defined]
        target=run, args=(*arguments, there), daemon=True
    )
    # A terminal sends Ctrl-C to all its processes; the helper inherits that it is ignored.
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process.start()
    finally:
        signal.signal(signal.SIGINT, handler)
        there.close()
    try:
        yield here
    finally:
        process.terminate()
        process.join()
        here.close()
