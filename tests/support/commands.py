"""Runs the installed commands as real processes, and ends them."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.metadata import distribution
from pathlib import Path
from typing import IO, Any

from click.testing import CliRunner

from support import scale
from support.forked import BIN, MODULES, ForkedCommand

PATIENCE_S = 200
Command = subprocess.Popen[str] | ForkedCommand
#: Bots and entrants have the priority of other processes: with `nice`, beside two busy processes,
#: they get a tenth of a core and take a minute to start.
_CHANGED = {
    "playout.server.net.player_processes.ANALYST_NICENESS": 0,
    "playout.server.net.player_processes.PLAYER_NICENESS": 0,
    "playout.server.net.site_processes.PLAYER_NICENESS": 0,
    "playout.server.organizer.supervisor.PLAYER_NICENESS": 0,
    # Lines about work that takes seconds would depend on the speed of the machine.
    "playout.commands.progress.FIRST_S": 3600,
}


def start(command: str, *arguments: str, **options: Any) -> Command:
    """Start a command with pipes in text mode; its errors are in its output.

    `changed` are new values of constants, as in `{"package.module.NAME": 1}`.
    """
    if scale.real_starts and "changed" not in options:
        return start_installed(command, *arguments, **options)
    changed = _CHANGED | options.pop("changed", {})
    return ForkedCommand(command, *arguments, changed=changed, **options)


def start_installed(command: str, *arguments: str, **options: Any) -> Command:
    """Start an installed command in a process that is no copy of another, with pipes as `start`."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    words = [str(BIN / command), *map(str, arguments)]
    return subprocess.Popen(words, text=True, **pipes | options)


def installed(command: str) -> list[str]:
    """The words that run a command as its installed script does."""
    entry = distribution("playout").entry_points[command]
    code = f"import sys; from {entry.module} import {entry.attr}; sys.exit({entry.attr}())"
    return [sys.executable, "-P", "-c", code]


def start_like_popen(words: Sequence[str], **options: Any) -> Command:
    """Start an installed command with the words and options of `subprocess.Popen`.

    It is always in text mode and in the session of the tests.
    """
    for name in ("text", "start_new_session"):
        options.pop(name, None)
    return start(Path(words[0]).name, *words[1:], **options)


def finish(process: Command, text: str | None = None) -> tuple[int, str]:
    """Write a text to a command, wait for its end, and return its exit code and output."""
    try:
        output, _ = process.communicate(text, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        raise AssertionError(f"{process.args} did not end; its output:\n{output}") from None
    return process.returncode, output


def finish_all(*processes: Command) -> list[tuple[int, str]]:
    """Return exit codes and outputs of commands that need each other: all are read at a time."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(finish, processes))


def run(command: str, *arguments: str, **options: object) -> tuple[int, str]:
    """Run a command, and return its exit code and output."""
    return finish(start(command, *arguments, **options), "")


def invoke(command: str, *arguments: str) -> tuple[int, str]:
    """Call a command in this process, and return its exit code and output.

    For calls that end before they start a server or a match.
    """
    main = importlib.import_module(MODULES[command]).main
    path = sys.path.copy()  # a command may add the current folder
    try:
        done = CliRunner().invoke(main, arguments, prog_name=command)
    finally:
        sys.path[:] = path
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
        """Send SIGTERM, wait, and return the exit code and the log."""
        self.process.send_signal(signal.SIGTERM)
        return self.finish()

    def finish(self) -> tuple[int, str]:
        """Wait until it has stopped, and return the exit code and the log."""
        code, _ = finish(self.process)
        self._log.seek(0)
        return code, self._log.read()


def _http_of(process: Command) -> str:
    """Return the value of the last `--http` of a command."""
    words = list(map(str, process.args))
    return words[len(words) - words[::-1].index("--http")]


def _where(announcement: str) -> tuple[str, int]:
    """Return host and port of `listening on HOST:PORT` or `page at http://HOST:PORT/`."""
    where = announcement.rsplit(maxsplit=1)[-1].removeprefix("http://").rstrip("/")
    host, _, port = where.rpartition(":")
    return host, int(port)


@contextmanager
def running_server(
    *arguments: str, env: dict[str, str] | None = None, **options: Any
) -> Iterator[RunningServer]:
    """Run a server until the end of the block, by default with a new SQLite file.

    `options`: those of `start`, such as `changed`.
    """
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
