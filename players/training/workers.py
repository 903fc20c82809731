"""The worker processes of a run: they get the jobs of a round, and are replaced if they exit."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Protocol

from players.training.errors import TrainingError
from players.training.worker import Job, WorkerReport
from players.training.worker_process import WorkerMessage, WorkerProcess, failure

#: How often a job is started before its failure is an error.
ATTEMPTS = 3


class JobPlayers(Protocol):
    """What plays the jobs of a round: processes of this machine, or of a cluster."""

    @property
    def count(self) -> int:
        """How many jobs are played at a time, at least 1."""

    @property
    def evaluations(self) -> int:
        """How many positions were evaluated for the jobs since `play` was called."""

    @property
    def is_idle(self) -> bool:
        """Whether all jobs are done."""

    @property
    def description(self) -> str:
        """The players in a few words, to be shown with the progress; empty for processes."""

    def play(self, jobs: list[Job]) -> None:
        """Start these jobs; those before are done."""

    def poll(self, timeout_s: float) -> None:
        """Wait so long for something to happen, and handle it. Raises TrainingError."""


class Workers:
    """Processes that play against themselves."""

    def __init__(self, settings: Path, log: Path) -> None:
        self._settings = settings
        self._log = log
        self._reports = SimpleQueue[WorkerMessage]()
        self._waiting = deque[Job]()
        self._attempts: dict[Job, int] = {}
        self._evaluations: dict[Job, int] = {}
        self._processes: list[WorkerProcess] = []

    def start(self, count: int) -> None:
        """Start so many processes; if one cannot start, `close` ends those before it."""
        for _ in range(count):
            self._processes.append(self._new())

    @property
    def count(self) -> int:
        """The number of worker processes."""
        return len(self._processes)

    @property
    def evaluations(self) -> int:
        """How many positions were evaluated for the jobs since `play` was called."""
        return sum(self._evaluations.values())

    @property
    def description(self) -> str:
        """Nothing: processes of this machine are what everybody expects."""
        return ""

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
            each.kill()

    def _take(self, worker: WorkerProcess, report: WorkerReport | None) -> None:
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

    def _replace(self, worker: WorkerProcess) -> None:
        """Start another process, which does the job of one that has exited."""
        code = worker.process.wait()
        if worker.job and self._attempts[worker.job] >= ATTEMPTS:
            raise TrainingError(failure(code, self._log))
        if worker.job:
            self._waiting.appendleft(worker.job)
        self._processes[self._processes.index(worker)] = self._new()
        self._hand_out()

    def _hand_out(self) -> None:
        for each in self._processes:
            if each.job is None and self._waiting:
                job = self._waiting.popleft()
                self._attempts[job] += 1
                each.start(job)

    def _new(self) -> WorkerProcess:
        return WorkerProcess(self._settings, self._log, self._reports)
