"""Processes that end when this one does, by whatever death."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import server

Process = subprocess.Popen[bytes]

#: Of players: a move waits for the server while others think, two thirds of a millisecond less with
#: this.
PLAYER_NICENESS = 10

_PR_SET_PDEATHSIG = 1
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None
#: How much of what a process has said last is shown.
_TAIL_LINES, _TAIL_BYTES = 8, 4000


@dataclass(frozen=True)
class Program:
    """What to run, and where; `death` is the signal that it gets when this process is gone.

    Who is nicer than others lets them go first, as players should their server.
    """

    words: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    death: signal.Signals = signal.SIGKILL
    niceness: int = 0

    def start(self, log: Path) -> Process:
        """Run it, in a group of its own; what it says goes into the log. Raises OSError.

        To be called in the main thread: where the system knows it, the death of the thread counts.
        """
        with log.open("ab") as said:
            return subprocess.Popen(
                self.words,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=self.environment,
                process_group=0,
                # It takes no lock, so that no thread can have left one behind.
                preexec_fn=self._beginning(),  # noqa: PLW1509
            )

    def _beginning(self) -> Callable[[], None]:
        """What the new process does first."""
        return functools.partial(begin, os.getpid(), self.death, self.niceness)


def begin(parent: int, death: int, niceness: int) -> None:
    """Of a new process: end with its parent, where the system can see to it, and be nicer."""
    with contextlib.suppress(PermissionError):  # a service manager may forbid it
        os.nice(niceness)
    if _prctl is None:
        return
    _prctl(_PR_SET_PDEATHSIG, death, 0, 0, 0)
    if os.getppid() != parent:  # it died before it could be asked
        os.kill(os.getpid(), signal.SIGKILL)


def start_own(
    call: str, *arguments: str, environment: Mapping[str, str], niceness: int, log: IO[bytes]
) -> Process:
    """Run a command of Playout's, `module:function`, as `Program.start` does. Raises OSError.

    What a `Program` has to do first needs a copy of this process, which stops a server for 13 ms;
    such a command does it by itself.
    """
    module, _, function = call.partition(":")
    first = f"begin({os.getpid()}, {signal.SIGKILL:d}, {niceness})"
    code = (
        f"import sys; from server.runtime.subprocesses import begin; {first}; "
        f"from {module} import {function}; sys.exit({function}())"
    )
    return subprocess.Popen(
        [sys.executable, "-P", "-c", code, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        env=environment,
        process_group=0,
    )


def own(call: str, *arguments: str) -> list[str]:
    """The words of a command of Playout's, `module:function` with arguments.

    With `own_environment` it runs the same code as this process.
    """
    module, _, function = call.partition(":")
    code = f"import sys; from {module} import {function}; sys.exit({function}())"
    return [sys.executable, "-P", "-c", code, *arguments]


def own_environment() -> dict[str, str]:
    """The environment of a command of Playout's, without what is for this one alone."""
    return others_environment() | {"PYTHONPATH": python_path()}


def python_path() -> str:
    """The PYTHONPATH with which a process imports the same code as this one.

    That is the folder from which this process imports, then this process's own PYTHONPATH.
    """
    root = str(Path(server.__file__).parents[1])
    return os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))


def others_environment() -> dict[str, str]:
    """The environment of any other command: no token of anybody else is in it."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PLAYOUT_")}


def stop(processes: Iterable[Process], patience_s: float) -> None:
    """End them and what they have started: ask first, and wait for so long."""
    all_ = list(processes)
    for each in all_:
        send(each, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        for each in all_:
            each.wait(patience_s)
    for each in all_:
        send(each, signal.SIGKILL)
        each.wait()


def send(process: Process, number: signal.Signals) -> None:
    """To a process and what it has started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def last_lines(file: IO[bytes], number: int) -> list[str]:
    """So many, or fewer, of what a process has said."""
    file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
    return file.read().decode(errors="replace").splitlines()[-number:]


def how_it_ended(process: Process) -> str:
    """In words, of one that has."""
    code = process.returncode
    if code < 0:
        return f"was ended by a signal ({signal.strsignal(-code) or -code})"
    return f"has ended with exit code {code}"


class LogFolder:
    """A folder for what processes say. It is kept if there is a reason to read it."""

    def __init__(self) -> None:
        self.wanted = False

    @functools.cached_property
    def folder(self) -> Path:
        """Where it is, from the first time that it is asked for."""
        return Path(tempfile.mkdtemp(prefix="playout-tournament-"))

    def of(self, name: str) -> Path:
        """The file of one of them; the folder is made again if somebody has tidied it away."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        return self.folder / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}.log"

    def tail(self, name: str) -> str:
        """What it has said last."""
        with contextlib.suppress(OSError), self.of(name).open("rb") as file:
            return "\n".join(last_lines(file, _TAIL_LINES))
        return ""

    def close(self) -> bool:
        """Nothing is written any more. True if there is something to read."""
        used = "folder" in vars(self)
        if used and not self.wanted:
            shutil.rmtree(self.folder, ignore_errors=True)
        return used and self.wanted
