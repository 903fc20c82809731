"""Processes that serve matches: commands, start and stop."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import IO, NamedTuple

import click

from testbed.machine import children, reserve_port

#: Options that limit a peer. In a benchmark one peer may have thousands of connections.
LIMITS = (
    "connections",
    "connections-per-address",
    "messages-per-s",
    "idle-s",
    "sessions-per-account",
    "seeks-per-account",
    "seeks-per-address",
    "matches-per-account",
    "matches-per-address",
    "versions-per-hour",
    "stored-mb-per-hour",
    "analysis-mb-per-match",
    "database-mb",
)
SERVER, PLAYER, TOURNAMENT = (
    str(Path(sys.executable).with_name(f"playout-{name}"))
    for name in ("server", "player", "tournament")
)
PLAYOUT = [SERVER, "--port=0", "--http=none"]
#: A server without limits, which ends a session as soon as its connection ends.
UNLIMITED = [*PLAYOUT, "--reconnect-s=0", *(f"--{name}=0" for name in LIMITS)]
NOTHING_STORED = "--database=none"
#: Maximum number of characters of a log in an error.
LONGEST_QUOTE = 2000
#: Option of a server with web pages.
PAGE = "--http=127.0.0.1:0"
RELAY = [sys.executable, "-P", str(Path(__file__).with_name("relay.py"))]
REPACKING_RELAY = [*RELAY, "--repack"]


class ServerProcess(NamedTuple):
    """A running server: its port, its standard error, and the port of its web pages or 0."""

    port: int
    pid: int
    log: IO[bytes]
    page: int = 0


@contextlib.contextmanager
def serving(command: Sequence[str]) -> Iterator[ServerProcess]:
    """Run a program until the end of the block; it must print `... listening on HOST:PORT` first.

    If it has web pages, their address is on the next line. Raises ClickException if it does not
    start.
    """
    with (
        tempfile.TemporaryFile() as log,
        Popen(command, stdout=PIPE, stderr=log, text=True, start_new_session=True) as process,
    ):
        try:
            assert process.stdout is not None
            announced = process.stdout.readline()
            if not announced:
                log.seek(0)
                output = log.read().decode(errors="replace")[-LONGEST_QUOTE:]
                raise click.ClickException(f"{command[0]} does not start:\n{output}")
            page = _port(process.stdout.readline()) if PAGE in command else 0
            yield ServerProcess(_port(announced), process.pid, log, page)
        finally:
            process.kill()


def _port(announced: str) -> int:
    return int(announced.rpartition(":")[2].rstrip("/\n"))


@contextlib.contextmanager
def stored() -> Iterator[str]:
    """Yield the option for a new SQLite database, which is removed at the end of the block.

    It is in the folder for temporary files (TMPDIR), which should be on a disk.
    """
    with tempfile.TemporaryDirectory() as folder:
        yield f"--database=sqlite:///{folder}/playout.db"


def allow_connections(count: int) -> None:
    """Raise the limit of open files for `count` connections, for child processes too.

    Raises ClickException if the hard limit is lower.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + 100
    if soft >= wanted:
        return
    if hard < wanted:
        raise click.ClickException(
            f"{count} connections need {wanted} open files, and {hard} are allowed (ulimit -n)"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


# A server that can be killed and restarted on the same port and the same database.


class KillableServer:
    """A `playout-server` process; all its restarts append to one log."""

    def __init__(self, options: Sequence[str], log: Path) -> None:
        self.port = reserve_port()
        #: The time of its last start, by `time.monotonic`.
        self.started_at = 0.0
        self._command = [SERVER, f"--port={self.port}", *options]
        self._log = log
        self._process: Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process; it listens some time later."""
        self.started_at = time.monotonic()
        with self._log.open("ab") as log:
            self._process = Popen(
                self._command,
                stdin=DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process that was started last."""
        assert self._process
        return self._process.pid

    def kill(self) -> None:
        """End the process with SIGKILL, without any clean-up."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """Stop the process with SIGTERM, and return its exit code."""
        return self._end(signal.SIGTERM)

    @contextlib.contextmanager
    def paused(self, *, storage: bool) -> Iterator[None]:
        """Pause the process, or its storage process instead, until the end of the block."""
        process = self.pid
        if storage:
            process, *_ = children(process)
        os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(process, signal.SIGCONT)

    def log_tail(self) -> str:
        """Return the end of its log."""
        return self._log.read_text(errors="replace")[-LONGEST_QUOTE:]

    def traceback(self) -> str:
        """Return the first traceback in its log, or an empty text."""
        _, found, rest = self._log.read_text(errors="replace").partition("Traceback")
        return (found + rest)[:LONGEST_QUOTE]

    def _end(self, number: signal.Signals) -> int:
        assert self._process
        self._process.send_signal(number)
        return self._process.wait()


@contextlib.contextmanager
def killable_server(options: Sequence[str], log: Path) -> Iterator[KillableServer]:
    """Run a server until the end of the block."""
    server = KillableServer(options, log)
    server.start()
    try:
        yield server
    finally:
        server.kill()
