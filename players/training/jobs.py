"""Matches for a training: processes play shards of self-play, threads play pairs for a score.

Self-play is given to processes of this machine as jobs, one shard at a time each.

A process gets jobs and sends replies through a pipe of `multiprocessing`, which is its standard
input. It ends when the other end is closed, so that it never outlives the process that started it.
That may be a worker of a Dask cluster: a daemon of `multiprocessing`, which must not start the
processes of a `ProcessPoolExecutor`. A thread of a `ThreadPoolExecutor`, or of a worker of Dask,
waits for each job (`ShardProcesses.play`).
"""

from __future__ import annotations

import contextlib
import functools
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from playout import players
from playout.commands.child import last_lines
from playout.commands.subprocesses import own, own_environment
from playout.games import Game, SpecError
from playout.games.core import spec
from playout.players import Limit, Player
from playout.players.comparison.pairs import openings, play_pair
from playout.players.nets import net as onnx_nets
from playout.players.nets.files import NetError
from playout.players.training import TrainingError
from playout.players.training.run_folder import packed, packed_shard, unpacked
from playout.players.training.samples import Shard, ShardName
from playout.players.training.self_play import SelfPlay, Unfinished
from playout.players.training.settings import parse, trainable
from playout.ratings.pairs import PairScore

#: Seconds between two reports of the number of evaluations.
_REPORT_S = 0.25
#: How often a job is started before its failure is an error.
ATTEMPTS = 3
#: The lines at the end of the log that an error shows.
_LOG_LINES = 6


@dataclass(frozen=True)
class Job:
    """A shard to play: its name, the number of samples, a seed, and the net with its round.

    `settings` is the text of the settings of the run. `games` is the file of the games to continue,
    empty for new ones: the shard then follows from the job alone, and its reply has the file of the
    games that have not ended. With None, the process continues the games of its last job.
    """

    settings: str
    shard: ShardName
    positions: int
    seed: int
    net: Path
    net_round: int
    games: bytes | None = None


@dataclass(frozen=True)
class PlayedShard:
    """The file of a shard, and that of the games to continue, None if the process has them."""

    name: ShardName
    content: bytes
    games: bytes | None
    evaluations: int


class ShardPlayer:
    """Plays the jobs of a run; games that have not ended continue in the next job, with its net."""

    def __init__(self, settings: str) -> None:
        """`settings` is the text of the settings. Raises TrainingError."""
        self.text = settings
        self._settings = parse(settings, "the settings")
        self._backend = self._settings.processes.backend
        self._self_play: SelfPlay | None = None

    def play(self, job: Job, evaluated: Callable[[int], object] = lambda n: None) -> PlayedShard:
        """Play a job; `evaluated` gets the number of evaluations of each batch.

        Raises TrainingError and NetError.
        """
        settings = self._settings
        # The net is also loaded for a job of playouts, so that a faulty net or runtime is reported
        # at once. The fastest runtime is determined once.
        net = onnx_nets.load(
            job.net,
            settings.game,
            backend=self._backend,
            precision=settings.processes.precision,
            batch=settings.self_play.games,
        )
        self._backend = net.backend
        try:
            if self._self_play is None or job.games is not None:
                self._self_play = self._new_games(job)
            by_playouts = job.net_round < settings.self_play.playout_rounds
            evaluate = None if by_playouts else net.evaluate
            result = self._self_play.play(evaluate, job.positions, evaluated)
        except MemoryError as error:
            text = "not enough memory for the games: lower self_play.games or self_play.simulations"
            raise TrainingError(f"{text} ({error})") from error
        finally:
            net.close()
        shard = Shard(result.samples, result.played, job.net_round)
        left = None
        if job.games is not None:
            left = packed(self._self_play.unfinished._asdict(), {})
        content = packed_shard(shard, settings.game)
        return PlayedShard(job.shard, content, left, result.played.evaluations)

    def _new_games(self, job: Job) -> SelfPlay:
        """Return the games with which a job begins. Raises TrainingError."""
        given = None
        if job.games:
            given = Unfinished(**unpacked(job.games, "the games to continue", "play new ones")[0])
        settings = self._settings
        return SelfPlay(trainable(settings.game), settings.self_play, job.seed, given)


# The process.


def main() -> None:
    """Play the jobs of standard input.

    The argument is the longest wait for a job in seconds, 0 for no limit.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that trains
    connection: Connection = Connection(sys.stdin.fileno())
    player: ShardPlayer | None = None
    for job in _received_jobs(connection, float(sys.argv[1])):
        reply: PlayedShard | TrainingError
        try:
            if player is None or player.text != job.settings:
                player = ShardPlayer(job.settings)
            reply = player.play(job, _Progress(connection).add)
        except (TrainingError, NetError) as error:
            reply = TrainingError(str(error))
        connection.send(reply)


def _received_jobs(connection: Connection, patience_s: float) -> Iterator[Job]:
    """Yield the jobs until none arrives for some seconds; 0 is no limit.

    A thread receives them, and ends the process when the other end is closed.
    """
    jobs = queue.SimpleQueue[Job]()

    def receive() -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                jobs.put(connection.recv())
        os._exit(0)  # also in the middle of a job, whose shard counts when its reply is received

    threading.Thread(target=receive, daemon=True).start()
    with contextlib.suppress(queue.Empty):
        while True:
            yield jobs.get(timeout=patience_s or None)


class _Progress:
    """Sends the number of evaluations of a job, by the net or by playouts, now and then."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._evaluations = 0
        self._reported_at = time.monotonic()

    def add(self, evaluations: int) -> None:
        self._evaluations += evaluations
        if time.monotonic() > self._reported_at + _REPORT_S:
            self._reported_at = time.monotonic()
            self._connection.send(self._evaluations)


# The process that starts it.


class _Process(NamedTuple):
    """A process that plays, with this end of its pipe."""

    process: subprocess.Popen[bytes]
    connection: Connection

    def kill(self) -> None:
        """Kill it; its job is lost."""
        self.process.kill()
        self.process.wait()


class ShardProcesses:
    """The processes that play shards, as many as jobs are played at a time.

    `play` may be called by several threads at once.
    """

    def __init__(self, log: Path, patience_s: float = 0.0) -> None:
        """`log` gets their output. Without a job, they end after `patience_s`, unless it is 0."""
        self._log = log
        self._patience_s = patience_s
        self._waiting: list[_Process] = []
        self._playing: set[_Process] = set()
        self._is_closed = False

    def start(self) -> None:
        """Start a process for a later job. Raises OSError."""
        self._waiting.append(self._new())

    def play(
        self,
        job: Job,
        evaluated: Callable[[int], object] = lambda n: None,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> PlayedShard | None:
        """Play a job; return None if it is no longer wanted.

        `evaluated` gets the number of evaluations so far. A process that exits is replaced, and the
        job is started again. Raises TrainingError.
        """
        code = 0
        for _ in range(ATTEMPTS):
            if self._is_closed:
                return None
            found = self._taken()
            self._playing.add(found)
            try:
                reply = _reply(found.connection, job, evaluated, is_wanted)
            except (EOFError, OSError):
                code = found.process.wait()
                continue
            finally:
                self._playing.remove(found)
            if reply is None:
                found.kill()
            else:
                self._waiting.append(found)
            if isinstance(reply, TrainingError):
                raise reply
            return reply
        text = f"processes that play exit with code {code} before their shard is complete"
        raise TrainingError(f"{text}; {self._end_of_log()}")

    def close(self) -> None:
        """Kill all processes; the shards that they play are lost."""
        self._is_closed = True
        for each in (*self._waiting, *self._playing.copy()):
            each.kill()

    def _taken(self) -> _Process:
        """Return a waiting process, or a new one."""
        while self._waiting:
            found = self._waiting.pop()
            if found.process.poll() is None:
                return found
        return self._new()

    def _new(self) -> _Process:
        ours, its = Pipe()
        with self._log.open("ab") as log, its:
            process = subprocess.Popen(
                own(f"{__name__}:main", str(self._patience_s)),
                stdin=its.fileno(),
                stdout=log,
                stderr=log,
                env=own_environment(),
                process_group=0,  # Ctrl-C is for this process
            )
        return _Process(process, ours)

    def _end_of_log(self) -> str:
        """Return the name of the log, and its last lines."""
        with self._log.open("rb") as file:
            lines = last_lines(file, _LOG_LINES)
        return f"{self._log} has:" + "".join(f"\n  {line}" for line in lines)


def _reply(
    connection: Connection,
    job: Job,
    evaluated: Callable[[int], object],
    is_wanted: Callable[[], bool],
) -> PlayedShard | TrainingError | None:
    """Send a job and return its reply; None if the job is no longer wanted.

    Raises EOFError and OSError if the process exits.
    """
    connection.send(job)
    while is_wanted():
        if connection.poll(_REPORT_S):
            reply: int | PlayedShard | TrainingError = connection.recv()
            if not isinstance(reply, int):
                return reply
            evaluated(reply)
    return None


class ShardPlayers(ABC):
    """Plays the jobs of a round: in processes of this machine, or on the workers of a cluster."""

    def __init__(self) -> None:
        self._playing: set[Future[PlayedShard | None]] = set()
        #: The evaluations of each job, as far as they are known.
        self._evaluations: dict[ShardName, int] = {}

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of jobs that are played at a time, 1 or more."""

    @property
    @abstractmethod
    def description(self) -> str:
        """A few words to show with the progress; empty for processes of this machine."""

    @abstractmethod
    def submit(self, job: Job) -> Future[PlayedShard | None]:
        """Have a job played. Raises TrainingError."""

    @property
    def evaluations(self) -> int:
        """The number of evaluations for the jobs since `start` was called."""
        return sum(self._evaluations.copy().values())

    @property
    def is_idle(self) -> bool:
        """Whether all jobs are done."""
        return not self._playing

    def start(self, jobs: Iterable[Job]) -> None:
        """Start these jobs; all earlier ones are done. Raises TrainingError."""
        self._evaluations = {}
        self._playing = {self.submit(job) for job in jobs}

    def poll(self, timeout_s: float) -> list[PlayedShard]:
        """Return the shards that were completed since the last call.

        Waits for the first at most `timeout_s` seconds. Raises TrainingError.
        """
        done, self._playing = wait(self._playing, timeout_s, FIRST_COMPLETED)
        shards = [shard for each in done if (shard := each.result())]
        self._evaluations.update((each.name, each.evaluations) for each in shards)
        return shards


class LocalPlayers(ShardPlayers):
    """Plays jobs in processes of this machine."""

    def __init__(self, count: int, log: Path) -> None:
        """`start_processes` starts the processes, `count` of them."""
        super().__init__()
        self._count = count
        self._processes = ShardProcesses(log)
        self._threads = ThreadPoolExecutor(count)

    @property
    def count(self) -> int:
        """The number of processes that play at a time."""
        return self._count

    @property
    def description(self) -> str:
        """Empty: processes of this machine are the default."""
        return ""

    def start_processes(self) -> None:
        """Start the processes before the first jobs. Raises OSError; call `close` then, too."""
        for _ in range(self._count):
            self._processes.start()

    def submit(self, job: Job) -> Future[PlayedShard | None]:
        """Have a job played, and count its evaluations meanwhile."""
        evaluated = functools.partial(self._evaluations.__setitem__, job.shard)
        return self._threads.submit(self._processes.play, job, evaluated)

    def close(self) -> None:
        """Kill all processes; the shards that they play are lost."""
        self._processes.close()
        self._threads.shutdown()


# Pairs of matches with a net or an evaluation, for its score against a player.

#: The player that uses a file, and its option for the file, by the suffix.
PLAYERS = {".onnx": ("alphazero", "net"), ".npz": ("alphabeta", "evaluation")}


@dataclass(frozen=True)
class EvaluatedPlayer:
    """The description of a player, and the file of its net or evaluation.

    The file is the net of `alphazero`, or the evaluation (.npz) of `alphabeta`.
    """

    description: str
    learned: Path | None = None

    def make(self, game: Game) -> Player:
        """Return a new player. Raises SpecError."""
        given = spec.parse(self.description)
        if self.learned is None:
            return players.load(given, game)
        _, option = PLAYERS[self.learned.suffix]
        if option in given.options:
            raise SpecError(
                f"the {option} is {self.learned}; "
                f"leave out the option {option}={given.options[option]}"
            )
        options = {**given.options, option: str(self.learned)}
        return players.load(spec.Spec(given.name, options), game)


@dataclass(frozen=True)
class EvaluationTerms:
    """Two players, the limit of a move, and the length of the random openings."""

    game: Game
    players: tuple[EvaluatedPlayer, EvaluatedPlayer]
    limit: Limit
    plies: int
    seed: int


def played(terms: EvaluationTerms, pairs: int, threads: int) -> Iterator[PairScore]:
    """Play pairs, `threads` at a time; yield the points of the first player in each.

    Raises OpeningError if no opening has the length of the terms.
    """
    with ThreadPoolExecutor(threads) as pool:
        found = openings(terms.game, terms.plies, terms.seed, pairs)
        yield from pool.map(lambda opening: played_pair(terms, opening), found)


def played_pair(terms: EvaluationTerms, opening: Sequence[int]) -> PairScore:
    """Play both matches of an opening; return the points of the first player."""
    first, second = terms.players
    return play_pair(terms.game, (first.make, second.make), terms.limit, opening).score
