"""Runs an engine, and ends it with all processes that it has started; a program of its own.

    python -I -S guard.py CONTROL LOG MAX_BYTES COMMAND...

CONTROL is a socket. When its other end is shut down, also by the death of the player's process, the
engine and its descendants are killed. When the engine exits, its descendants are killed. Then the
seconds of processor time of all of them, and the most kilobytes of memory that one of them had, are
written to CONTROL. The engine has this program's standard input and output. Its errors are written
to LOG, the descriptor of a file, up to MAX_BYTES.

The exit code is the engine's: 128 plus the number of a signal that ended it, 127 if it cannot be
started. The program imports little, so that it starts in 20 ms.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
#: The kind of a process's clock that counts the time of its threads, see clock_getcpuclockid(3).
_CPU_CLOCK = 2
_SIGNALS = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
#: Milliseconds between two checks whether all descendants have exited.
_POLL_MS = 5
_CHUNK = 65536
_KILLED = 128 + signal.SIGKILL
_prctl: Callable[..., int] | None = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


def main(control: int, log: int, max_bytes: int, command: list[str]) -> int:
    """Run the command until it exits or CONTROL is closed; return the exit code."""
    if _prctl:  # a process whose parent has exited becomes a child of this one
        _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for descriptor in (control, log):
        os.set_inheritable(descriptor, False)
    wake = _wake_on_signals()
    errors, written = os.pipe()
    guard, engine = os.getpid(), os.fork()
    if engine == 0:
        _become(command, written, guard)
    os.close(written)
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # so that the player notices when the engine closes its streams
        os.dup2(null, stream)
    try:
        return _watch(engine, control, wake, Drain(errors, log, max_bytes))
    finally:
        used = _used()
        _kill_descendants(engine)
        cpu_s, kilobytes = map(max, zip(used, _used(), strict=True))
        with contextlib.suppress(OSError):  # the player has exited
            os.write(control, f"{cpu_s} {kilobytes}".encode())


class Drain:
    """Reads the standard error of an engine, so that the pipe is never full."""

    def __init__(self, errors: int, log: int, max_bytes: int) -> None:
        """Copy up to `max_bytes` bytes from one descriptor to the other."""
        os.set_blocking(errors, False)
        self.errors = errors
        self._log = log
        self._left = max_bytes

    def read(self) -> bool:
        """Copy available bytes; return whether more may be available."""
        try:
            chunk = os.read(self.errors, _CHUNK)
        except BlockingIOError:
            return False
        kept = chunk[: self._left]
        self._left -= len(kept)
        with contextlib.suppress(OSError):  # the disk may be full
            os.write(self._log, kept)
        return bool(chunk)


def _wake_on_signals() -> int:
    """Return a descriptor that can be read after a signal; others than SIGCHLD also exit."""

    def end(*_: object) -> None:
        sys.exit(1)

    for number in _SIGNALS:
        signal.signal(number, end)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    reading, writing = os.pipe()
    for descriptor in (reading, writing):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(writing)
    return reading


def _become(command: list[str], errors: int, guard: int) -> None:
    """Execute the command in this process, in a process group of its own."""
    os.setpgid(0, 0)
    if _prctl:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != guard:  # it exited before the call
            os._exit(_KILLED)
    os.dup2(errors, 2)
    for number in (*_SIGNALS, signal.SIGPIPE):  # Python ignores SIGPIPE
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]} cannot be run: {error.strerror}\n".encode())
    os._exit(127)


def _watch(engine: int, control: int, wake: int, drain: Drain) -> int:
    """Wait until the engine exits or CONTROL is closed; return the exit code."""
    poll = select.poll()
    for descriptor in (control, wake, drain.errors):
        poll.register(descriptor, select.POLLIN)
    while True:
        ready = {descriptor for descriptor, _ in poll.poll()}
        if drain.errors in ready and not drain.read():
            poll.unregister(drain.errors)
        if wake in ready:
            os.read(wake, _CHUNK)
            if (code := _reap(engine)) is not None:
                while drain.read():
                    pass
                return code
        if control in ready:
            return 0


def _reap(engine: int) -> int | None:
    """Release the children that have exited; return the exit code of the engine if it has."""
    code = None
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == engine:
                status = os.waitstatus_to_exitcode(ended[1])
                code = status if status >= 0 else 128 - status
    return code


def _used() -> tuple[float, int]:
    """Return the seconds of processor time of all descendants, and the peak memory of one in kB.

    The kernel adds the usage of its children to a process, but not in a namespace that is killed.
    The times of a process in /proc are cut to whole ticks of 10 ms, its clock is exact.
    """
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, kilobytes = ended.ru_utime + ended.ru_stime, ended.ru_maxrss
    for each in _descendants():
        with contextlib.suppress(OSError, LookupError, ValueError):
            seconds += time.clock_gettime(~each << 3 | _CPU_CLOCK)
            with open(f"/proc/{each}/stat", "rb") as file:
                ticks = sum(map(int, file.read().rpartition(b")")[2].split()[13:15]))
            seconds += ticks / os.sysconf("SC_CLK_TCK")  # of its children that have exited
            with open(f"/proc/{each}/status", "rb") as file:
                peak = file.read().partition(b"VmHWM:")[2].split()[0]
            kilobytes = max(kilobytes, int(peak))
    return seconds, kilobytes


def _kill_descendants(engine: int) -> None:
    """Kill the engine and all its descendants, and return when they have exited."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(engine, signal.SIGKILL)
    while True:
        for each in _descendants():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(each, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        select.poll().poll(_POLL_MS)


def _descendants() -> Iterator[int]:
    """Yield the processes that descend from this one."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        with contextlib.suppress(OSError, ValueError):
            with open(f"/proc/{int(name)}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
            children.setdefault(parent, []).append(int(name))
    found = children.get(os.getpid(), [])
    for each in found:
        found.extend(children.get(each, ()))
        yield each


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:4]]
    sys.exit(main(numbers[0], numbers[1], numbers[2], sys.argv[4:]))
