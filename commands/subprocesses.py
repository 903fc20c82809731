"""Starts subprocesses, which end with this process even if it is killed, and ends them."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from playout.games.core import plugins

Process = subprocess.Popen[bytes]

#: The niceness of players. With it, a move waits two thirds of a millisecond less for the server
#: while other players search.
PLAYER_NICENESS = 10
#: The niceness of work that may take only idle processor time.
LOWEST_NICENESS = 19
#: Without it, the library of numpy starts one idle thread for each core.
FEW_THREADS = {"OMP_NUM_THREADS": "1"}

_PR_SET_PDEATHSIG = 1
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None
#: The lines at the end of a process's output that are shown, and the bytes that are read for them.
_TAIL_LINES, _TAIL_BYTES = 8, 4000
#: Seconds for which the output of processes is kept.
_KEPT_S = 30 * 86_400


@dataclass(frozen=True)
class Program:
    """A command with its folder and environment.

    `death` is the signal that it gets when this process exits. Processes with a lower `niceness`
    run first, as the server should before players. A `secret` is the line on its standard input.
    """

    words: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    death: signal.Signals = signal.SIGKILL
    niceness: int = 0
    secret: str | None = None

    def start(self, log: Path) -> Process:
        """Run it in a process group of its own, and append its output to a file. Raises OSError.

        Call it in the main thread: on Linux, the new process gets `death` when that thread ends.
        """
        with log.open("ab") as output, input_with(self.secret) as input_:
            return subprocess.Popen(
                self.words,
                stdin=input_,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=self.environment,
                process_group=0,
                # It takes no lock that another thread could hold at this moment.
                preexec_fn=self._beginning(),  # noqa: PLW1509
            )

    def _beginning(self) -> Callable[[], None]:
        """Return the function that the new process calls before the command."""
        return functools.partial(begin, os.getpid(), self.death, self.niceness)


@contextlib.contextmanager
def input_with(secret: str | None) -> Iterator[int]:
    """Yield the descriptor of a standard input with that line, or of an empty one.

    Other processes of the user can read the arguments and the environment of a process. They cannot
    open its input under `/proc`, as it is a socket, and the line is gone when it was read.
    """
    if secret is None:
        yield subprocess.DEVNULL
        return
    ours, its = socket.socketpair()
    with its:
        with ours:
            ours.sendall(f"{secret}\n".encode())
        yield its.fileno()


def begin(parent: int, death: int, niceness: int) -> None:
    """Prepare a new process: set its niceness and, on Linux, end it with its parent."""
    with contextlib.suppress(PermissionError):  # a service manager may forbid it
        os.nice(niceness)
    if _prctl is None:
        return
    _prctl(_PR_SET_PDEATHSIG, death, 0, 0, 0)
    if os.getppid() != parent:  # the parent exited before the call
        os.kill(os.getpid(), signal.SIGKILL)


def start_own(
    call: str,
    *arguments: str,
    environment: Mapping[str, str],
    niceness: int,
    log: IO[bytes],
    input_: int = subprocess.DEVNULL,
) -> Process:
    """Run a command of Playout, `module:function`, as `Program.start` does. Raises OSError.

    `input_` is the descriptor of its standard input. A `Program` copies this process, which stops a
    server for 13 ms; this function does not, as the command calls `begin` itself.
    """
    module, _, function = call.partition(":")
    first = f"begin({os.getpid()}, {signal.SIGKILL:d}, {niceness})"
    code = (
        f"import sys; from playout.commands.subprocesses import begin; {first}; "
        f"from {module} import {function}; sys.exit({function}())"
    )
    return subprocess.Popen(
        [sys.executable, "-P", "-c", code, *arguments],
        stdin=input_,
        stdout=log,
        stderr=subprocess.STDOUT,
        env=environment,
        process_group=0,
    )


def own(call: str, *arguments: str) -> list[str]:
    """Return the words of a command of Playout, `module:function` with arguments.

    With `own_environment` it runs the code of this process.
    """
    module, _, function = call.partition(":")
    code = f"import sys; from {module} import {function}; sys.exit({function}())"
    return [sys.executable, "-P", "-c", code, *arguments]


def own_environment() -> dict[str, str]:
    """Return the environment for a command of Playout, without this process's own variables."""
    return others_environment() | {"PYTHONPATH": python_path()}


def python_path() -> str:
    """Return the PYTHONPATH with which a process imports the same code as this one.

    It is the folder from which this process imports Playout, then the PYTHONPATH of this process.
    """
    root = str(Path(__file__).parents[2])
    return os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))


def others_environment() -> dict[str, str]:
    """Return the environment for any other command, without tokens.

    It has the registered games, because the command may start a player.
    """
    other = {key: value for key, value in os.environ.items() if not key.startswith("PLAYOUT_")}
    return other | plugins.environment()


def stop(processes: Iterable[Process], patience_s: float) -> None:
    """End processes and their children: by SIGTERM, and after `patience_s` seconds by SIGKILL."""
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
    """Send a signal to a process and its children."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def last_lines(file: IO[bytes], number: int) -> list[str]:
    """Return up to `number` of the last lines of a process's output."""
    file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
    return file.read().decode(errors="replace").splitlines()[-number:]


def how_it_ended(process: Process) -> str:
    """Return in words how an exited process has ended."""
    code = process.returncode
    if code < 0:
        return f"was ended by a signal ({signal.strsignal(-code) or -code})"
    return f"has ended with exit code {code}"


class LogFolder:
    """A folder for the output of processes, which is kept if it is `wanted`.

    It is in the folder `parent`, where those that were kept are deleted after 30 days, or in that
    of temporary files.
    """

    def __init__(self, parent: Path | None = None) -> None:
        self.wanted = False
        self._parent = parent

    @functools.cached_property
    def folder(self) -> Path:
        """The path of the folder, which is created when it is first used."""
        prefix = "playout-tournament-"
        if self._parent:
            with contextlib.suppress(OSError):
                self._parent.mkdir(mode=0o700, exist_ok=True)
                for each in self._parent.glob(f"{prefix}*"):
                    if each.stat().st_mtime < time.time() - _KEPT_S:
                        shutil.rmtree(each, ignore_errors=True)
                return Path(tempfile.mkdtemp(prefix=prefix, dir=self._parent))
        return Path(tempfile.mkdtemp(prefix=prefix))

    def of(self, name: str) -> Path:
        """Return the path of a process's log; the folder is created again if it was deleted."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        return self.folder / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}.log"

    def tail(self, name: str) -> str:
        """Return the last lines of a process's output."""
        with contextlib.suppress(OSError), self.of(name).open("rb") as file:
            return "\n".join(last_lines(file, _TAIL_LINES))
        return ""

    def close(self) -> bool:
        """Delete the folder unless it is wanted; return whether it is kept."""
        used = "folder" in vars(self)
        if used and not self.wanted:
            shutil.rmtree(self.folder, ignore_errors=True)
            if self._parent:
                with contextlib.suppress(OSError):  # it has others
                    self._parent.rmdir()
        return used and self.wanted
