"""Processes of pytest-xdist as copies of the one that distributes the tests.

Each would import all tests and what they use, and start a fork server for commands: ten seconds.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import signal
import sys
from collections.abc import Iterator
from multiprocessing import forkserver
from pathlib import Path
from typing import Any, NoReturn

import pytest
from _pytest.pathlib import import_path
from execnet import gateway_base, gateway_io

_Started = gateway_io.Popen2IOMaster


def prepare(config: pytest.Config, number: int) -> None:
    """Import the tests of a run, and copy this process for pytest-xdist so many times.

    A process that takes the place of one that crashed is no copy.
    """
    for path in _files(config):
        _import(path, config.rootpath)
    if "support.commands" in sys.modules:
        _share_fork_server()
    gc.freeze()
    copies: list[_Copy] = []
    for _ in range(number):
        copies.append(_Copy(copies))
    waiting = iter(copies)

    def start(words: list[str], model: gateway_base.ExecModel) -> gateway_base.Popen2IO:
        copy = next(waiting, None)
        return copy.used_with(model) if copy else _Started(words, model)

    gateway_io.Popen2IOMaster = start  # type: ignore[assignment, misc]


def _files(config: pytest.Config) -> Iterator[Path]:
    for argument in config.args:
        path = Path(config.invocation_params.dir, argument.partition("::")[0]).absolute()
        if path.is_relative_to(config.rootpath):
            yield from sorted(path.rglob("test_*.py")) if path.is_dir() else [path]


def _import(path: Path, root: Path) -> None:
    """Import a module as pytest does, which imports one again that is skipped or has an error."""
    try:
        import_path(path, mode="importlib", root=root, consider_namespace_packages=False)
    except (Exception, pytest.skip.Exception):
        sys.modules.pop(".".join(path.relative_to(root).with_suffix("").parts), None)


def _share_fork_server() -> None:
    """Start the process whose copies are commands; this one and its copies use the same."""
    from support.forked import preloaded

    preloaded()
    server: Any = forkserver._forkserver
    server.ensure_running = lambda: None  # it asks whether the server is a child of the process


class _Copy(gateway_base.Popen2IO):
    """A copy of this process, and the pipes to its standard streams."""

    def __init__(self, earlier: list[_Copy]) -> None:
        read, self._input = os.pipe()
        self._output, written = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            for each in (*earlier, self):
                os.close(each._input)
                os.close(each._output)
            _serve(read, written)
        os.close(read)
        os.close(written)

    def used_with(self, model: gateway_base.ExecModel) -> _Copy:
        super().__init__(os.fdopen(self._input, "wb"), os.fdopen(self._output, "rb"), model)
        return self

    def wait(self) -> int | None:
        with contextlib.suppress(ChildProcessError):
            return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        return None

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)


def _serve(read: int, written: int) -> NoReturn:
    """Do in a copy what a new process of execnet does."""
    for number, descriptor in enumerate((read, written)):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    with contextlib.suppress(BaseException):
        exec(gateway_io.popen_bootstrapline, {"__name__": "__main__"})
        atexit._run_exitfuncs()
    os._exit(0)
