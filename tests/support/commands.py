"""Runs the installed commands as real processes, and ends them."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from click.testing import CliRunner
from support.forked import MODULES, ForkedCommand

BIN = Path(sys.executable).parent
PATIENCE_S = 200
Command = subprocess.Popen[str] | ForkedCommand


def start(command: str, *arguments: str, **options: Any) -> Command:
    """A command with pipes, in text mode; its errors come with its output.

    In another folder, or with another PYTHONPATH, it may import something else than the others.
    """
    path = options.get("env", os.environ).get("PYTHONPATH")
    if "cwd" not in options and path == os.environ.get("PYTHONPATH"):
        return ForkedCommand(command, *arguments, **options)
    given: dict[str, Any] = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.STDOUT,
        "text": True,
    }
    return subprocess.Popen([BIN / command, *arguments], **(given | options))


def finish(process: Command, said: str | None = None) -> tuple[int, str]:
    """Exit code and output of a command that ends by itself, after it was told something."""
    try:
        output, _ = process.communicate(said, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        raise AssertionError(f"{process.args} did not end; it said:\n{output}") from None
    return process.returncode, output


def finish_all(*processes: Command) -> list[tuple[int, str]]:
    """Exit codes and outputs of commands that play each other: none waits to be read."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(finish, processes))


def run(command: str, *arguments: str, **options: object) -> tuple[int, str]:
    """Exit code and output of a command."""
    return finish(start(command, *arguments, **options), "")


def invoke(command: str, *arguments: str) -> tuple[int, str]:
    """Exit code and output of a command that is called in this process.

    For what ends before a server or a match begins; a process takes two seconds to start.
    """
    main = importlib.import_module(MODULES[command]).main
    done = CliRunner().invoke(main, arguments, prog_name=command)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


class RunningServer:
    """A `playout-server` that listens on a free port of this machine, and logs to a file."""

    def __init__(self, process: Command, log: IO[str]) -> None:
        self.process = process
        self._log = log
        assert process.stdout
        announcement = process.stdout.readline()
        assert "listening on" in announcement, f"{announcement} {self.finish()}"
        self.host, self.port = _where(announcement)
        #: The host and port of its page, where it was asked for one.
        self.page = None if _http_of(process) == "none" else _where(process.stdout.readline())

    @property
    def address(self) -> tuple[str, str]:
        """The option of `playout-player`."""
        return "--port", str(self.port)

    def stop(self) -> tuple[int, str]:
        """Ask it to stop; exit code and what it has logged."""
        self.process.send_signal(signal.SIGTERM)
        return self.finish()

    def finish(self) -> tuple[int, str]:
        """Wait until it has stopped; exit code and what it has logged."""
        code, _ = finish(self.process)
        self._log.seek(0)
        return code, self._log.read()


def _http_of(process: Command) -> str:
    """What the last `--http` of a command said."""
    words = list(map(str, process.args))
    return words[len(words) - words[::-1].index("--http")]


def _where(announcement: str) -> tuple[str, int]:
    """What `listening on HOST:PORT` says, or `page at http://HOST:PORT/`."""
    where = announcement.rsplit(maxsplit=1)[-1].removeprefix("http://").rstrip("/")
    host, _, port = where.rpartition(":")
    return host, int(port)


@contextmanager
def running_server(
    *arguments: str, env: dict[str, str] | None = None, **options: Any
) -> Iterator[RunningServer]:
    """A server for a while. It stores what happens in a file of its own, which goes with it."""
    # A file: a pipe that nobody reads would stop the server when it is full.
    with tempfile.TemporaryFile("w+") as log, tempfile.TemporaryDirectory() as folder:
        usual = ("--port", "0", "--grace-s", "0", "--http", "none")
        kept = ("--database", f"sqlite:///{folder}/playout.db")
        command = ("playout-server", *usual, *kept, *arguments)
        process = start(*command, env=os.environ | (env or {}), stderr=log, **options)
        try:
            yield RunningServer(process, log)
        finally:
            process.kill()
            process.communicate()
