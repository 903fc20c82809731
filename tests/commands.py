"""Runs the installed commands as real processes, and ends them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

BIN = Path(sys.executable).parent
PATIENCE_S = 60


def start(command: str, *arguments: str, **options: object) -> subprocess.Popen[str]:
    """A command with pipes, in text mode; its errors come with its output."""
    given: dict[str, object] = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.STDOUT,
        "text": True,
    }
    return subprocess.Popen([BIN / command, *arguments], **(given | options))  # type: ignore


def finish(process: subprocess.Popen[str], said: str | None = None) -> tuple[int, str]:
    """Exit code and output of a command that ends by itself, after it was told something."""
    try:
        output, _ = process.communicate(said, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        raise AssertionError(f"{process.args} did not end; it said:\n{output}") from None
    return process.returncode, output


def finish_all(*processes: subprocess.Popen[str]) -> list[tuple[int, str]]:
    """Exit codes and outputs of commands that play each other: none waits to be read."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(finish, processes))


def run(command: str, *arguments: str, **options: object) -> tuple[int, str]:
    """Exit code and output of a command."""
    return finish(start(command, *arguments, **options), "")


class RunningServer:
    """A `playout-server` that listens on a free port of this machine."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout
        announcement = process.stdout.readline()
        while "listening on" not in announcement:
            assert announcement, f"the server ended with {process.wait()}"
            announcement = process.stdout.readline()
        self.host, port = announcement.split()[-1].split(":")
        self.port = int(port)

    @property
    def address(self) -> tuple[str, str]:
        """The option of `playout-player`."""
        return "--port", str(self.port)

    def stop(self) -> tuple[int, str]:
        """Ask it to stop; exit code and what it has logged."""
        self.process.send_signal(signal.SIGTERM)
        return finish(self.process)


@contextmanager
def running_server(*arguments: str, env: dict[str, str] | None = None) -> Iterator[RunningServer]:
    """A server for a while."""
    process = start(
        "playout-server", "--port", "0", "--grace-s", "0", *arguments, env=os.environ | (env or {})
    )
    try:
        yield RunningServer(process)
    finally:
        process.kill()
        process.communicate()
