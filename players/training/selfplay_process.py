"""Self-play in processes: the program of a worker, and the workers of a run.

A worker reads jobs from standard input, plays against itself, writes a shard for each job, and
writes reports to standard output; jobs and reports are lines of JSON. It ends when its standard
input does, so that it never outlives the process that started it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Protocol

import msgspec

from playout import players
from playout.players.nets.files import NetError
from playout.players.nets.net import Net
from playout.players.training import TrainingError
from playout.players.training.run_folder import RunFolder
from playout.players.training.samples import Shard, ShardName
from playout.players.training.self_play import SelfPlay
from playout.players.training.settings import trainable

#: Seconds between two reports of how many positions were evaluated.
_REPORT_S = 0.25
#: How often a job is started before its failure is an error.
ATTEMPTS = 3


class Job(msgspec.Struct, frozen=True):
    """A shard to play: its name, the round of the net, a seed, and the number of samples.

    With `alone`, the shard follows from the job and the files of the folder alone: the worker
    starts with the games that are stored for the shard, or new ones, and stores those that have not
    ended. Otherwise it continues the games of its last job.
    """

    shard: ShardName
    net: int
    seed: int
    positions: int
    alone: bool = False


class WorkerReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """The number of evaluations in a worker's job so far; finally its end or an error."""

    evaluations: int = 0
    done: bool = False
    error: str = ""


class _Progress:
    """Reports the number of evaluations, by the net or by playouts, every `_REPORT_S` seconds."""

    def __init__(self) -> None:
        self.evaluations = 0
        self._reported_at = time.monotonic()

    def add(self, evaluations: int) -> None:
        """Count evaluations, and report the sum if it is due."""
        self.evaluations += evaluations
        if time.monotonic() > self._reported_at + _REPORT_S:
            self._reported_at = time.monotonic()
            _send(WorkerReport(self.evaluations))


def main() -> None:
    """Do the jobs of standard input.

    Arguments: the folder of the run, and the seconds to wait for a job, 0 for no limit.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that trains
    try:
        worker = SelfPlayWorker(RunFolder(Path(sys.argv[1])))
        for job in _jobs(float(sys.argv[2])):
            _send(WorkerReport(worker.do(job), done=True))
    except (TrainingError, NetError) as error:
        _send(WorkerReport(error=str(error)))
    except MemoryError as error:
        text = "not enough memory for the games: lower self_play.games or self_play.simulations"
        _send(WorkerReport(error=f"{text} ({error})"))


class SelfPlayWorker:
    """Plays jobs; games that have not ended continue in the next job, with its net."""

    def __init__(self, folder: RunFolder) -> None:
        """Read the settings. Raises TrainingError."""
        self._folder = folder
        self._settings = folder.settings
        self._backend = self._settings.processes.backend
        self._self_play: SelfPlay | None = None

    def do(self, job: Job) -> int:
        """Play a job and write its shard; return how many positions were evaluated.

        Raises TrainingError and NetError.
        """
        # Also for a job of playouts, so that a faulty net or runtime is reported at once.
        settings, net = self._settings, self._net(job)
        if self._self_play is None or job.alone:
            given = self._folder.read_games(job.shard) if job.alone else None
            game = trainable(settings.game)
            self._self_play = SelfPlay(game, settings.self_play, job.seed, given)
        progress = _Progress()
        by_playouts = job.net < settings.self_play.playout_rounds
        try:
            evaluate = None if by_playouts else net.evaluate
            result = self._self_play.play(evaluate, job.positions, progress.add)
        finally:
            net.close()
        if job.alone:
            self._folder.write_games(job.shard, self._self_play.unfinished)
        self._folder.write_shard(job.shard, Shard(result.samples, result.played, job.net))
        return progress.evaluations

    def _net(self, job: Job) -> Net:
        """Load the net of a job; the fastest runtime is determined once."""
        net = self._folder.load_net(job.net, self._backend)
        self._backend = net.backend
        return net


def _jobs(idle_s: float) -> Iterator[Job]:
    """Yield the jobs until none arrives for `idle_s` seconds; 0 is no limit.

    A thread reads them, and ends the process at the end of standard input.
    """
    lines = SimpleQueue[bytes]()

    # Unbuffered: the interpreter cannot end while a thread holds the lock of a buffer.
    stdin = open(sys.stdin.fileno(), "rb", buffering=0, closefd=False)  # noqa: SIM115

    def read_lines() -> None:
        for line in stdin:
            lines.put(line)
        os._exit(0)  # also in the middle of a job, whose shard is complete or absent

    threading.Thread(target=read_lines, daemon=True).start()
    with contextlib.suppress(Empty):
        while True:
            yield msgspec.json.decode(lines.get(timeout=idle_s or None), type=Job)


def _send(report: WorkerReport) -> None:
    os.write(sys.stdout.fileno(), msgspec.json.encode(report) + b"\n")


class WorkerProcess:
    """A worker process and its job; a thread puts its reports into a queue, and None at its end."""

    def __init__(
        self, folder: RunFolder, reports: SimpleQueue[WorkerMessage], idle_s: float = 0.0
    ) -> None:
        """Start it; unless `idle_s` is 0, it ends itself after that many seconds without a job."""
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
        """Send it a job; if it has exited, its end will be reported."""
        self.job = job
        assert self.process.stdin
        try:
            self.process.stdin.write(msgspec.json.encode(job) + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def failure(self) -> TrainingError:
        """Return the error of an exit before the job was done, with the end of the log."""
        code, log = self.process.wait(), self._folder.end_of_log()
        return TrainingError(f"workers exit with code {code} before their job is done; {log}")

    def kill(self) -> None:
        """Kill it; its job is lost."""
        self.process.kill()
        self.process.wait()


WorkerMessage = tuple[WorkerProcess, WorkerReport | None]


def _python_path() -> str:
    """Return the PYTHONPATH with which a worker imports the same code as this process."""
    root = str(Path(players.__file__).parents[1])
    return os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))


class JobPlayers(Protocol):
    """Plays the jobs of a round: processes of this machine, or the workers of a cluster."""

    @property
    def count(self) -> int:
        """The number of jobs that are played at a time, 1 or more."""

    @property
    def evaluations(self) -> int:
        """The number of evaluations for the jobs since `play` was called."""

    @property
    def is_idle(self) -> bool:
        """Whether all jobs are done."""

    @property
    def description(self) -> str:
        """A few words to show with the progress; empty for processes of this machine."""

    def play(self, jobs: list[Job]) -> None:
        """Start these jobs; all earlier ones are done."""

    def poll(self, timeout_s: float) -> None:
        """Handle events, and wait for the first at most `timeout_s`. Raises TrainingError."""


class Workers:
    """Worker processes of this machine, which are replaced if they exit."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._reports = SimpleQueue[WorkerMessage]()
        self._waiting = deque[Job]()
        self._attempts: dict[Job, int] = {}
        self._evaluations: dict[Job, int] = {}
        self._processes: list[WorkerProcess] = []

    def start(self, count: int) -> None:
        """Start `count` processes; if one cannot start, `close` ends those before it."""
        for _ in range(count):
            self._processes.append(self._new())

    @property
    def count(self) -> int:
        """The number of worker processes."""
        return len(self._processes)

    @property
    def evaluations(self) -> int:
        """The number of evaluations for the jobs since `play` was called."""
        return sum(self._evaluations.values())

    @property
    def description(self) -> str:
        """Empty: processes of this machine are the default."""
        return ""

    def play(self, jobs: list[Job]) -> None:
        """Start these jobs; all earlier ones are done."""
        self._attempts = dict.fromkeys(jobs, 0)
        self._evaluations = {}
        self._waiting.extend(jobs)
        self._hand_out()

    @property
    def is_idle(self) -> bool:
        """Whether all jobs are done."""
        return not self._waiting and all(each.job is None for each in self._processes)

    def poll(self, timeout_s: float) -> None:
        """Handle reports, and replace workers that have exited. Raises TrainingError."""
        try:
            process, report = self._reports.get(timeout=timeout_s)
            while True:
                self._take(process, report)
                process, report = self._reports.get_nowait()
        except Empty:
            pass

    def close(self) -> None:
        """Kill all workers; their unfinished shards are lost."""
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
        """Start a process in place of one that has exited, and repeat its job."""
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


if __name__ == "__main__":
    main()
