"""The worker processes of a run: they get the jobs of a round, and are replaced if they exit."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path
from queue import Empty, SimpleQueue

import msgspec

import players
from players.training.errors import TrainingError
from players.training.worker import Job, WorkerReport

#: How often a job is started before its failure is an error.
_ATTEMPTS = 3
_LOG_LINES = 6


class _Process:
    """A worker and its job; a thread passes its reports on, and None at its end."""

    def __init__(self, settings: Path, log: Path, reports: SimpleQueue[_Message]) -> None:
        self.job: Job | None = None
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "players.training.worker", str(settings)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=os.environ | {"PYTHONPATH": _python_path()},
                process_group=0,  # Ctrl-C is for this process
            )
        threading.Thread(target=self._read, args=(reports,), daemon=True).start()

    def _read(self, reports: SimpleQueue[_Message]) -> None:
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


_Message = tuple[_Process, WorkerReport | None]


class Workers:
    """Processes that play against themselves, as many as `count`."""

    def __init__(self, count: int, settings: Path, log: Path) -> None:
        self._settings = settings
        self._log = log
        self._reports = SimpleQueue[_Message]()
        self._waiting = deque[Job]()
        self._attempts: dict[Job, int] = {}
        self._evaluations: dict[Job, int] = {}
        self._processes = [self._new() for _ in range(count)]

    @property
    def count(self) -> int:
        """The number of worker processes."""
        return len(self._processes)

    @property
    def evaluations(self) -> int:
        """How many positions were evaluated for the jobs since `play` was called."""
        return sum(self._evaluations.values())

    def play(self, jobs: list[Job]) -> None:
        """Start these jobs; those before are done."""
        self._attempts = dict.fromkeys(jobs, 0)
        self._evaluations = {}
        self._waiting.extend(jobs)
        self._hand_out()

    @property
    def is_idle(self) -> bool:
        """Whether all jobs are done."""
        return not self._waiting and all(each.job is None for each in self._processes)

    def poll(self, timeout_s: float) -> None:
        """Wait for reports, and replace workers that have exited. Raises TrainingError."""
        try:
            process, report = self._reports.get(timeout=timeout_s)
            while True:
                self._take(process, report)
                process, report = self._reports.get_nowait()
        except Empty:
            pass

    def close(self) -> None:
        """End all workers at once; the shards in flight are lost."""
        for each in self._processes:
            each.process.kill()
            each.process.wait()

    def _take(self, worker: _Process, report: WorkerReport | None) -> None:
        job = worker.job
        if report is None:
            self._replace(worker)
        elif report.error:
            raise TrainingError(report.error)
        elif job:
            self._evaluations[job] = max(report.evaluations, self._evaluations.get(job, 0))
            if report.done:
                worker.job = None
                self._hand_out()

    def _replace(self, worker: _Process) -> None:
        """Start another process, which does the job of one that has exited."""
        code = worker.process.wait()
        if worker.job and self._attempts[worker.job] >= _ATTEMPTS:
            raise TrainingError(self._failure(code))
        if worker.job:
            self._waiting.appendleft(worker.job)
        self._processes[self._processes.index(worker)] = self._new()
        self._hand_out()

    def _failure(self, code: int) -> str:
        lines = self._log.read_text(errors="replace").splitlines()[-_LOG_LINES:]
        shown = "".join(f"\n  {line}" for line in lines)
        return f"workers exit with code {code} before their job is done; {self._log} has:{shown}"

    def _hand_out(self) -> None:
        for each in self._processes:
            if each.job is None and self._waiting:
                job = self._waiting.popleft()
                self._attempts[job] += 1
                each.start(job)

    def _new(self) -> _Process:
        return _Process(self._settings, self._log, self._reports)


def _python_path() -> str:
    """The PYTHONPATH with which a worker imports the same code as this process."""
    root = str(Path(players.__file__).parents[1])
    return os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
