"""A process that plays jobs, as the process that has started it sees it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from queue import SimpleQueue

import msgspec

import players
from players.training.worker import Job, WorkerReport

_LOG_LINES = 6


class WorkerProcess:
    """A worker and its job; a thread passes its reports on, and None at its end."""

    def __init__(
        self, settings: Path, log: Path, reports: SimpleQueue[WorkerMessage], idle_s: float = 0.0
    ) -> None:
        """Start it; with `idle_s` it ends by itself after so many seconds without a job."""
        self.job: Job | None = None
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-P", "-m", "players.training.worker"),
                    *(str(settings), str(idle_s)),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=os.environ | {"PYTHONPATH": _python_path()},
                process_group=0,  # Ctrl-C is for this process
            )
        threading.Thread(target=self._read, args=(reports,), daemon=True).start()

    def _read(self, reports: SimpleQueue[WorkerMessage]) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            reports.put((self, msgspec.json.decode(line, type=WorkerReport)))
        reports.put((self, None))

    def start(self, job: Job) -> None:
        """Give it a job; if it has exited, its end will be reported."""
        self.job = job
        assert self.process.stdin
        try:
            self.process.stdin.write(msgspec.json.encode(job) + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def kill(self) -> None:
        """End it at once; its job is lost."""
        self.process.kill()
        self.process.wait()


WorkerMessage = tuple[WorkerProcess, WorkerReport | None]


def failure(code: int, log: Path) -> str:
    """A sentence about processes that exit before their job is done, with the end of their log."""
    lines = log.read_text(errors="replace").splitlines()[-_LOG_LINES:]
    shown = "".join(f"\n  {line}" for line in lines)
    return f"workers exit with code {code} before their job is done; {log} has:{shown}"


def _python_path() -> str:
    """The PYTHONPATH with which a worker imports the same code as this process."""
    root = str(Path(players.__file__).parents[1])
    return os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
