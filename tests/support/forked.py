"""Commands as copies of a process that has imported them.

A command takes two to four seconds of processor time for its imports. A copy of a process that has
done them starts at once. It is a process like any other: it has its own memory, sockets and
signals, and it can be killed.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from multiprocessing import forkserver
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerContext
from multiprocessing.reduction import DupFd
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import IO, Any, Self

import pytest

from playout import games
from playout.commands import entry_points
from playout.games.core import plugins
from support.copying_popen import start_copies
from testbed.machine import set_name

#: The modules of the commands; the function is `main`.
MODULES = {
    "playout-agents": "playout.agents.agents_command",
    "playout-bridge": "playout.bridges.bridge_command",
    "playout-competition": "playout.competition.competition_command",
    "playout-engine": "playout.players.engines.engine_command",
    "playout-lab": "playout.laboratory.laboratory_command",
    "playout-player": "playout.players.client.player_command",
    "playout-server": "playout.server.server_command",
    "playout-submit": "playout.competition.submit_command",
    "playout-tournament": "playout.server.organizer.tournament_command",
    "playout-train": "playout.players.training.training_command",
}
#: Those of Dask, which are started like commands of Playout.
OTHERS = {
    "dask-scheduler": "distributed.cli.dask_scheduler",
    "dask-worker": "distributed.cli.dask_worker",
}
#: Where the commands are installed.
BIN = Path(sys.executable).parent
_SEARCHES = (
    "playout.players.analyst.analyst_process",
    "playout.players.alphabeta",
    "playout.players.minimax",
    "playout.players.rave",
    "playout.players.uct",
    "playout.ratings.opening_generator",
)
_ENGINES = tuple(f"playout.players.engines.{name}_engine" for name in ("gomocup", "gtp", "uci"))
_STORAGE = ("playout.server.storage.storage_process", "alembic.command")
_TRAINER = "playout.players.training.loop"
#: `multiprocessing` reads the exit code of a process only once, which two threads may do at a time.
_lock = Lock()


@cache
def preloaded() -> ForkServerContext:
    """Return the context whose processes are copies, after the start of the copied one."""
    context = multiprocessing.get_context("forkserver")
    rules = [f"playout.games.{name}" for name in games.names()]
    modules = [
        *MODULES.values(),
        *OTHERS.values(),
        *rules,
        *_SEARCHES,
        *_ENGINES,
        *_STORAGE,
        _TRAINER,
    ]
    context.set_forkserver_preload([*modules, __name__, "support.warm"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        forkserver.ensure_running()
    return context


class ForkedCommand:
    """A running command; used like `subprocess.Popen` in text mode, whose options it takes."""

    def __init__(
        self,
        command: str,
        *arguments: str,
        stdin: int | IO[Any] = subprocess.PIPE,
        stdout: int | IO[Any] = subprocess.PIPE,
        stderr: int | IO[Any] = subprocess.STDOUT,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        changed: Mapping[str, object] | None = None,
    ) -> None:
        """Take also new values of constants, as in `{"package.module.NAME": 1}`."""
        self.args = [str(BIN / command), *map(str, arguments)]
        with contextlib.ExitStack() as its_own:
            read, self.stdin = _stream(stdin, "w", its_own)
            written, self.stdout = _stream(stdout, "r", its_own)
            reported, self.stderr = written, None
            if stderr != subprocess.STDOUT:
                reported, self.stderr = _stream(stderr, "r", its_own)
            environment = dict(os.environ if env is None else env)
            streams = _Streams(read, written, reported)
            folder = str(cwd or Path.cwd())
            module = (MODULES | OTHERS)[command]
            given = [each for each in environment.get("PYTHONPATH", "").split(os.pathsep) if each]
            path = [*given, *_path_of_commands()]
            call = (module, self.args, environment, path, folder, streams, dict(changed or {}))
            self._process = preloaded().Process(target=_run, args=call)
            with _lock:
                self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid
        self._reading: list[Future[str]] = []

    @property
    def returncode(self) -> int | None:
        with _lock:
            return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        wait([self._process.sentinel], timeout)
        code = self.returncode
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return code

    def communicate(self, text: str | None = None, timeout: float | None = None) -> tuple[str, str]:
        """Write a text, close the input, and read the outputs until the process has ended.

        Raises TimeoutExpired; then it can be called again.
        """
        if not self._reading:  # in threads, so that the process never waits to be read
            threads = ThreadPoolExecutor(2)
            self._reading = [threads.submit(_read, each) for each in (self.stdout, self.stderr)]
            threads.shutdown(wait=False)
        if self.stdin and not self.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                self.stdin.write(text or "")
                self.stdin.flush()
            with contextlib.suppress(BrokenPipeError):
                self.stdin.close()
        self.wait(timeout)
        output, errors = (each.result(timeout) for each in self._reading)
        return output, errors

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        self.wait()


class _Streams:
    """The three standard streams, passed to another process."""

    def __init__(self, *descriptors: int) -> None:
        self._descriptors = descriptors

    def __getstate__(self) -> list[Any]:
        return [DupFd(each) for each in self._descriptors]

    def __setstate__(self, passed: list[Any]) -> None:
        self._descriptors = tuple(each.detach() for each in passed)

    def install(self) -> None:
        """Make them the standard streams of this process."""
        for number, descriptor in enumerate(self._descriptors):
            os.dup2(descriptor, number)
        for descriptor in set(self._descriptors):
            os.close(descriptor)
        sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)


def _stream(
    wanted: int | IO[Any], mode: str, its_own: contextlib.ExitStack
) -> tuple[int, IO[str] | None]:
    """Return the descriptor for the command, and this end of it where it is a pipe."""
    if wanted == subprocess.DEVNULL:
        null = os.open(os.devnull, os.O_RDWR)
        its_own.callback(os.close, null)
        return null, None
    if wanted != subprocess.PIPE:
        return wanted if isinstance(wanted, int) else wanted.fileno(), None
    reading, writing = os.pipe()
    ours, theirs = (reading, writing) if mode == "r" else (writing, reading)
    its_own.callback(os.close, theirs)
    return theirs, open(ours, mode)


def _read(stream: IO[str] | None) -> str:
    if stream is None:
        return ""
    with stream:
        return stream.read()


@cache
def _path_of_commands() -> list[str]:
    """Return the folders in which an installed command finds modules.

    Tests that load games and players may have added others to those of this process.
    """
    command = [sys.executable, "-P", "-c", "import sys; print(*sys.path, sep='\\n')"]
    environment = {name: each for name, each in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def _run(
    module: str,
    words: list[str],
    environment: dict[str, str],
    path: list[str],
    folder: str,
    streams: _Streams,
    changed: dict[str, object],
) -> None:
    """Run a command in the copy of the process."""
    gc.freeze()  # a server collects garbage at its start: the copied objects take 0.2 s
    streams.install()
    set_name(module)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[:] = path
    if environment.get("PYTHONPATH"):
        plugins._outside.cache_clear()
    sys.argv = words
    for constant, value in changed.items():
        owner, _, name = constant.rpartition(".")
        its_module = importlib.import_module(owner)
        assert hasattr(its_module, name), f"there is no {constant}"
        setattr(its_module, name, value)
    start_copies()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        entry_points.run(module)
    finally:
        atexit._run_exitfuncs()  # a copy of a process ends without them
