"""A server that can be killed and restarted on the same port and the same database."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from subprocess import DEVNULL, Popen

from testbed.machine import reserve_port

COMMAND = str(Path(sys.executable).with_name("playout-server"))
LONGEST_QUOTE = 2000


class KillableServer:
    """A `playout-server` process; all its restarts append to one log."""

    def __init__(self, options: Sequence[str], log: Path) -> None:
        self.port = reserve_port()
        #: When it was started last, by `time.monotonic`.
        self.started_at = 0.0
        self._command = [COMMAND, f"--port={self.port}", *options]
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

    def kill(self) -> None:
        """End the process with SIGKILL, without any clean-up."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """Stop the process with SIGTERM, and return its exit code."""
        return self._end(signal.SIGTERM)

    @contextlib.contextmanager
    def paused(self, *, storage: bool) -> Iterator[None]:
        """Pause the process, or its storage process instead, until the end of the block."""
        assert self._process
        process = self._process.pid
        if storage:
            children = Path(f"/proc/{process}/task/{process}/children").read_text()
            process = int(children.split()[0])
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
