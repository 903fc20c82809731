"""Where a benchmark ran, and with what; what it takes of the machine."""

from __future__ import annotations

import contextlib
import os
import platform
import random
import socket
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = ("playout", "numba", "numpy", "open_spiel", "twisted", "msgspec", "msgpack")
#: Below those that Linux gives to outgoing connections: while nobody listens on one of these, a
#: client that tries again and again may be given the very port that it calls, and reach itself.
_LISTENING = range(10_000, 32_000)
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def machine() -> dict[str, str | int | float]:
    """The processor, the cores this process may use, and how busy they were in the last minute."""
    return {
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
    }


def versions() -> dict[str, str]:
    """Of Python and of what the numbers depend on, as far as it is installed."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def described(command: str) -> dict[str, Any]:
    """How a document of results begins: what was run, when, where and with what."""
    return {
        "command": " ".join([command, *sys.argv[1:]]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": versions(),
    }


def headline(document: dict[str, Any]) -> str:
    """The same for people."""
    host = document["machine"]
    numbers = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    return (
        f"{document['command']}, {document['date']}\n"
        f"{host['processor']}, {host['cores']} cores, "
        f"load {host['load']:.1f} at the start; {numbers}"
    )


@contextlib.contextmanager
def cores_apart(pid: int) -> Iterator[None]:
    """One core for this process, the others for another; left alone, both may share one.

    Linux likes to wake who waits for a message on the core of who sent it.
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
    """What a process has used of the processors so far, in user and in system mode.

    Those that it has started count too. With `loop`, only what its main thread has, which is where
    a server's event loop runs.
    """
    if loop:
        return _ticks(f"/proc/{pid}/task/{pid}/stat") / _TICKS_A_SECOND
    return sum(_ticks(f"/proc/{each}/stat") for each in _family(pid)) / _TICKS_A_SECOND


def resident_kib(pid: int | None = None) -> int:
    """What of a process, or of this one, and of those it has started is in memory (VmRSS)."""
    return sum(_resident_kib(each) for each in _family(pid or os.getpid()))


def free_port() -> int:
    """One that nobody on this machine listens on, for a server that will be started again on it."""
    while True:
        port = random.choice(_LISTENING)
        with contextlib.suppress(OSError), socket.socket() as line:
            line.bind(("127.0.0.1", port))
            return port


def _family(pid: int) -> list[int]:
    """A process and those that its main thread has started, which here start no others."""
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
