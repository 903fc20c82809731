"""The worker processes of a run: they get the jobs of a round, and are replaced if they exit."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Protocol

import msgspec

from playout import players
from playout.players.training import TrainingError
from playout.players.training.run_folder import RunFolder
from playout.players.training.selfplay_process import Job, WorkerReport


class WorkerProcess:
    """A worker and its job; a thread passes its reports on, and None at its end."""

    def __init__(
        self, folder: RunFolder, reports: SimpleQueue[WorkerMessage], idle_s: float = 0.0
    ) -> None:
        """Start it; with `idle_s` it ends by itself after this many seconds without a job."""
        self.job: Job | None = None
        self._folder = folder
        with folder.open_log() as errors:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-P", "-m", "playout.players.training.selfplay_process"),
                    *(str(folder.path), str(idle_s)),
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

    def failure(self) -> TrainingError:
        """Return the error that it exited before its job was done, with the end of the log."""
        code, log = self.process.wait(), self._folder.end_of_log()
        return TrainingError(f"workers exit with code {code} before their job is done; {log}")

    def kill(self) -> None:
        """End it at once; its job is lost."""
        self.process.kill()
        self.process.wait()


WorkerMessage = tuple[WorkerProcess, WorkerReport | None]


def _python_path() -> str:
    """The PYTHONPATH with which a worker imports the same code as this process."""
    root = str(Path(players.__file__).parents[1])
    return os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))


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

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
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
        worker.process.wait()
        if worker.job and self._attempts[worker.job] >= ATTEMPTS:
            raise worker.failure()
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
        return WorkerProcess(self._folder, self._reports)
