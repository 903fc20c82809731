"""The processes that serve matches, and how they are run."""

from __future__ import annotations

import contextlib
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import click

#: What would stop one peer with thousands of connections, who is all the world.
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
#: Without limits. Who leaves is not waited for.
UNLIMITED = [*PLAYOUT, "--reconnect-s=0", *(f"--{name}=0" for name in LIMITS)]
NOTHING_STORED = "--database=none"
#: With its page, too.
PAGE = "--http=127.0.0.1:0"
RELAY = [sys.executable, "-P", str(Path(__file__).with_name("relay.py"))]
REPACKING_RELAY = [*RELAY, "--repack"]


class Served(NamedTuple):
    """A running process: where it listens, what it says on standard error, where its page is."""

    port: int
    pid: int
    log: IO[bytes]
    page: int = 0


@contextlib.contextmanager
def serving(command: Sequence[str]) -> Iterator[Served]:
    """Run a program that prints `... listening on HOST:PORT`, until the end of the block.

    With a page, its address is on the next line.
    """
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            announced = process.stdout.readline()
            if not announced:
                log.seek(0)
                said = log.read().decode(errors="replace")[-2000:]
                raise click.ClickException(f"{command[0]} does not start:\n{said}")
            page = _port(process.stdout.readline()) if PAGE in command else 0
            yield Served(_port(announced), process.pid, log, page)
        finally:
            process.kill()


def _port(announced: str) -> int:
    return int(announced.rpartition(":")[2].rstrip("/\n"))


@contextlib.contextmanager
def stored() -> Iterator[str]:
    """The option of a server that stores in SQLite, in a folder of its own that goes with it.

    The folder is where temporary ones are (TMPDIR), which should be on a disk.
    """
    with tempfile.TemporaryDirectory() as folder:
        yield f"--database=sqlite:///{folder}/playout.db"


def allow_connections(count: int) -> None:
    """Let this process, and those that it starts, have so many. Raises ClickException."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + 100
    if soft >= wanted:
        return
    if hard < wanted:
        raise click.ClickException(
            f"{count} connections need {wanted} open files, and {hard} are allowed (ulimit -n)"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
