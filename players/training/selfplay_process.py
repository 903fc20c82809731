"""A worker process: reads jobs and plays against itself, and writes a shard for each.

It reads jobs from standard input and writes reports to standard output, a line of JSON each. It
ends when its standard input does, so that it never outlives the process that started it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, SimpleQueue

import msgspec

from playout.players.nets.files import NetError
from playout.players.nets.net import Net
from playout.players.training import TrainingError
from playout.players.training.run_folder import RunFolder
from playout.players.training.samples import Played, Shard, ShardName
from playout.players.training.self_play import SelfPlay
from playout.players.training.settings import trainable

#: Seconds between two reports of how many positions were evaluated.
_REPORT_S = 0.25


class Job(msgspec.Struct, frozen=True):
    """Samples to play: how many, with the net after which round and which seed, for which shard.

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
    """How many positions a worker has evaluated in its job; at last its end or its error."""

    evaluations: int = 0
    done: bool = False
    error: str = ""


class _Progress:
    """Reports now and then how many positions were evaluated, by the net or by playouts."""

    def __init__(self) -> None:
        self.evaluations = 0
        self._reported_at = time.monotonic()

    def add(self, evaluations: int) -> None:
        """Count evaluations, and report the sum if it is time."""
        self.evaluations += evaluations
        if time.monotonic() > self._reported_at + _REPORT_S:
            self._reported_at = time.monotonic()
            _send(WorkerReport(self.evaluations))


def main() -> None:
    """Do the jobs of standard input, in the folder of a run, which is the first argument.

    The second one is how many seconds to wait for a job, 0 for any time.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that trains
    try:
        worker = SelfPlayWorker(RunFolder(Path(sys.argv[1])))
        for job in _jobs(float(sys.argv[2])):
            _send(WorkerReport(worker.do(job), done=True))
    except (TrainingError, NetError) as error:
        _send(WorkerReport(error=str(error)))
    except MemoryError as error:
        text = "the games need more memory than there is: lower self_play.games, or simulations"
        _send(WorkerReport(error=f"{text} ({error})"))


class SelfPlayWorker:
    """Plays jobs; games that have not ended go on in the next job, with its net."""

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
        # Also for a job of playouts: what is wrong with a net or a runtime is known at once.
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
        played = Played(
            games=result.games,
            positions=result.samples.positions,
            evaluations=result.evaluations,
            plies=result.plies,
            first_player_wins=result.first_player_wins,
            ties=result.ties,
            net_seconds=result.net_seconds,
            seconds=result.seconds,
        )
        if job.alone:
            self._folder.write_games(job.shard, self._self_play.unfinished)
        self._folder.write_shard(job.shard, Shard(result.samples, played, job.net))
        return progress.evaluations

    def _net(self, job: Job) -> Net:
        """Load the net of a job; which runtime is the fastest is found out once."""
        net = self._folder.load_net(job.net, self._backend)
        self._backend = net.backend
        return net


def _jobs(idle_s: float) -> Iterator[Job]:
    """Yield the jobs until none comes for so long, if that is not 0.

    A thread reads them, and ends the process with its standard input.
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


if __name__ == "__main__":
    main()
