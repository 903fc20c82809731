"""Processes that serve matches: commands, start and stop."""

from __future__ import annotations

import contextlib
import resource
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from subprocess import PIPE, Popen
from typing import IO, NamedTuple

import click

#: Options that limit a single peer; benchmarks have one peer with thousands of connections.
LIMITS = (
    "connections",
    "connections-per-address",
    "messages-per-s",
    "idle-s",
    "sessions-per-account",
    "seeks-per-account",
    "matches-per-account",
)
PLAYOUT = [str(Path(sys.executable).with_name("playout-server")), "--port=0", "--http=none"]
#: A server without limits, which ends a session as soon as its connection ends.
UNLIMITED = [*PLAYOUT, "--reconnect-s=0", *(f"--{name}=0" for name in LIMITS)]
NOTHING_STORED = "--database=none"
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

    With web pages, their address is on the next line. Raises ClickException if it does not start.
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
                said = log.read().decode(errors="replace")[-2000:]
                raise click.ClickException(f"{command[0]} does not start:\n{said}")
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
