"""The entrants of one tournament on the workers of a Dask cluster.

The server and the runner stay on their machine. The runner keeps a core set (`core_set`) submitted
for each match at once. The processes of a core set connect to the server, which pairs those of one
core set with each other. Dask decides which worker has a core set, and moves it when the worker is
lost; the matches of a lost core set are aborted. The runner also reports to the server where the
entrants run, for the tournament's page and for the records of matches.
"""

from __future__ import annotations

import contextlib
import math
import socket
import socketserver
import statistics
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

import click
from msgspec import structs

from playout.cluster.cluster import (
    LOCAL,
    Begun,
    Cluster,
    Content,
    Done,
    Event,
    Failed,
    Lost,
    Said,
    Task,
    clear_loss,
    connected,
    require_workers,
)
from playout.cluster.workers import CheckedWorker, Need, packed, withhold
from playout.commands.cores import machine
from playout.commands.restarts import Restarts
from playout.commands.text import counted, plain
from playout.protocol.connection import TlsSettings
from playout.protocol.endpoints import BACKLOG
from playout.protocol.messages import ClusterWorker, Fixture, ReportCluster, Tournament
from playout.protocol.tournament_spec import Entrant, Openings, TournamentSpec
from playout.server.organizer import core_set, estimate
from playout.server.organizer.core_set import (
    ENTRANT_CORES,
    ClusterJob,
    entrant_faults,
    named_files,
    tls_variables,
)
from playout.server.organizer.entrants import RunnerCalls, may_have_crashed, remaining
from playout.server.organizer.progress import TournamentProgress
from playout.server.organizer.supervisor import BACK_OFF
from playout.server.tournament.results import SLOW
from playout.server.tournament.spec_validation import LONGEST_MACHINE

#: Seconds after which a match that is still running is aborted once more.
_ABORT_AGAIN_S = 1.0
#: Seconds that the workers may take to end all processes.
_STOP_S = 5.0
_LOST = "the worker with its players was lost"
#: Seconds between two reports to the server after a change, and without one: a server that was
#: started again needs them.
_CHANGED_S, _UNCHANGED_S = 0.5, 10.0
#: The maximum number of workers in a report, and of characters of a host's name.
_MOST_WORKERS, _LONGEST_HOST = 1024, 64


@contextlib.contextmanager
def opened(address: str, files: Iterable[str]) -> Iterator[TournamentCluster]:
    """Within the block, use the cluster at an address, or a new one on this machine.

    `files`: files and folders that are sent to the workers. Raises ClickException.
    """
    with connected(address) as cluster:
        with clear_loss(cluster):
            if address == LOCAL:
                for worker in cluster.threads():
                    cluster.ask(worker, core_set.keep_to_one)
            number = sum(cluster.threads().values())
        yield TournamentCluster(cluster, tuple(files), number)


class TournamentCluster:
    """The workers that run the entrants of a tournament."""

    def __init__(self, cluster: Cluster, files: tuple[str, ...], number: int) -> None:
        """`number` is the number of threads of all workers."""
        self._cluster = cluster
        self._named = files
        self._job: ClusterJob | None = None
        self._files = Content(b"")
        #: The number of threads of all workers, each for one core.
        self.cores = number
        #: Called with each match that has begun, and the address of the worker that plays it.
        self.placed: Callable[[str, str], object] = lambda match, worker: None

    def check(
        self,
        spec: TournamentSpec,
        entrants: Iterable[Entrant],
        folder: Path,
        address: tuple[str, int],
        tokens: Mapping[str, str],
        tls: TlsSettings | None,
        *,
        is_running: bool,
    ) -> None:
        """Check all workers before the first match, and show their faults.

        `address` is that of the server; `is_running`: whether it has started. Raises ClickException
        if no worker can run the entrants.
        """
        entrants = tuple(each for each in entrants if each.player or each.command)
        try:
            variables, authority = tls_variables(tls)
            files = named_files(entrants, folder, self._named)
            self._files = Content(packed(folder, files))
            outline = packed(folder, files, without_content=True)
        except OSError as error:
            raise click.ClickException(f"{error.filename}: {error.strerror}") from error
        names = {each.name for each in entrants}
        mine = {name: token for name, token in tokens.items() if name in names}
        spec = replace(spec, entrants=entrants)
        self._job = ClusterJob(spec, address, mine, variables, authority)
        placeholder = contextlib.nullcontext() if is_running else listening(address)
        need, show = need_of(self._job, outline), partial(click.echo, err=True)
        with placeholder:
            workers = require_workers(self._cluster, need, "entrants", show)
        for line in slow_workers(workers):
            click.echo(line)

    @property
    def description(self) -> str:
        """The workers, which the report shows in place of the machine."""
        good = [each for each in self._cluster.workers.values() if each.cores]
        text = (
            f"Dask {version('dask')}: {counted(len(good), 'worker')} with "
            f"{counted(self._cluster.cores, 'core')} on "
            f"{counted(len({each.host for each in good}), 'host')}; runner: {machine()}"
        )
        return text[:LONGEST_MACHINE]

    def set_aside(self, worker: str) -> None:
        """Have a worker play no more matches of any tournament until it is started again.

        The connection of before was closed with the entrants. Raises ClickException.
        """
        with connected(self._cluster.address) as cluster, clear_loss(cluster):
            cluster.ask(worker, withhold, ENTRANT_CORES)

    def entrants(self, event: Tournament, runner: RunnerCalls) -> ClusterEntrants:
        """Return the entrants, after `check`."""
        assert self._job
        return ClusterEntrants(event, self._job, self._files, self._cluster, runner, self.placed)


def need_of(job: ClusterJob, files: bytes) -> Need:
    """Return the requirements of entrants, whose files may be empty in the archive `files`."""
    return Need(ENTRANT_CORES, partial(entrant_faults, job.outline, files))


def slow_workers(workers: Sequence[CheckedWorker]) -> list[str]:
    """Return a sentence for each worker that is slower than most by the calibration."""
    good = [(each, each.speed) for each in workers if each.speed and not each.faults]
    if not good:
        return []
    usual = statistics.median(speed for _, speed in good)
    return [
        f"worker {each.address} ({each.host}) computes at {speed / usual:.0%} of the median "
        "speed of the workers: players that think by the clock think less there"
        for each, speed in good
        if speed < SLOW * usual
    ]


class _PlaceholderServer(socketserver.TCPServer):
    """Accepts connections and closes them: the queue of a socket alone holds 129."""

    allow_reuse_address = True
    request_queue_size = BACKLOG

    def __init__(self, address: tuple[str, int]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, socketserver.BaseRequestHandler)


@contextlib.contextmanager
def listening(address: tuple[str, int]) -> Iterator[None]:
    """Accept connections at the address of the later server, so that workers can try to connect."""
    with _PlaceholderServer(address) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


def cluster_report(
    tournament: str,
    workers: Iterable[tuple[CheckedWorker, Iterable[int]]],
    *,
    waiting: int,
    matches_per_hour: float | None,
    dashboard: str | None,
) -> ReportCluster:
    """Return the message about the workers, each with the core sets that run there."""
    return ReportCluster(
        id="report_cluster",
        tournament=tournament,
        workers=tuple(_worker(*each) for each in workers)[:_MOST_WORKERS],
        waiting=waiting,
        matches_per_hour=matches_per_hour,
        dashboard=dashboard,
    )


class ClusterReporter:
    """Sends a report when it is due."""

    def __init__(self, send: Callable[[ReportCluster], None]) -> None:
        self._send = send
        self._sent: ReportCluster | None = None
        self._sent_at = -math.inf

    def poll(self, present: ReportCluster, now: float) -> None:
        """Send the current report if it is due; a change of the rate alone does not count."""
        steady = structs.replace(present, matches_per_hour=None)
        if now >= self._sent_at + (_UNCHANGED_S if steady == self._sent else _CHANGED_S):
            self._sent, self._sent_at = steady, now
            self._send(present)


def _worker(worker: CheckedWorker, core_sets: Iterable[int]) -> ClusterWorker:
    return ClusterWorker(
        host=plain(worker.host or worker.address)[:_LONGEST_HOST],
        cores=worker.cores,
        speed=worker.speed,
        core_sets=tuple(core_sets),
    )


@dataclass
class _CoreSet:
    """A core set with its task; None while it waits for another attempt."""

    number: int
    restarts: Restarts = field(default_factory=lambda: Restarts(BACK_OFF))
    task: Task | None = None


class ClusterEntrants:
    """The entrants of a tournament, on as many core sets as it has matches at once."""

    def __init__(
        self,
        event: Tournament,
        job: ClusterJob,
        files: Content,
        cluster: Cluster,
        runner: RunnerCalls,
        placed: Callable[[str, str], object] = lambda match, worker: None,
    ) -> None:
        """`job` has the entrants with their programs, `files` the archive of their files.

        The workers of `cluster` were checked. `placed` is called with each match that has begun,
        and the address of its worker.
        """
        names = {each.name for each in remaining(event)}
        entrants = tuple(each for each in job.spec.entrants if each.name in names)
        # Workers need no openings, of which there may be thousands.
        spec = replace(job.spec, entrants=entrants, openings=Openings())
        cores = estimate.match_cores(event.spec)
        self._job = replace(job, tournament=event.tournament, spec=spec, cores=cores)
        self._files = files
        self._cluster = cluster
        self._runner = runner
        self._placed = placed
        self._core_sets = [_CoreSet(number) for number in range(1, event.spec.concurrency + 1)]
        #: The matches on each core set; those to abort, with the time of the next attempt.
        self._played: dict[int, set[str]] = {}
        self._void: dict[str, float] = {}
        #: The entrants whose crashes the core sets count.
        self._crashed: set[str] = set()
        self._is_begun = False
        self._dashboard = cluster.dashboard
        self._reporter = ClusterReporter(runner.report_cluster)

    def place(self, fixture: Fixture) -> None:
        """Note the core sets that play a match."""
        for number in fixture.processes:
            if number is not None and fixture.winner is None:
                self._played.setdefault(number, set()).add(fixture.match)
                task = self._core_sets[number - 1].task if number <= len(self._core_sets) else None
                if task and task.worker:
                    self._placed(fixture.match, task.worker)
        if fixture.winner is not None:
            self._void.pop(fixture.match, None)
            for matches in self._played.values():
                matches.discard(fixture.match)

    def match_played(self, fixture: Fixture) -> None:
        """Have the workers forget the crashes of a match's players, if they have counted any."""
        for seat, name in enumerate(fixture.players, 1):
            if name in self._crashed and not may_have_crashed(fixture, seat):
                self._crashed.discard(name)
                self._cluster.tell(core_set.forget_crashes, self._job.tournament, name)

    def poll(self, progress: TournamentProgress, now: float, *, reachable: bool) -> None:
        """Submit the core sets that are due, and abort the matches of those that were lost."""
        for event in self._cluster.poll(now):
            self._handle(event, now)
        if progress.is_caught_up:
            if not self._is_begun:
                # Matches that another runner left have lost their players.
                self._abort_later(progress.ledger.running)
                self._is_begun = True
            for each in self._core_sets:
                if each.task is None and each.restarts.is_due(now):
                    self._submit(each)
        if reachable:
            self._abort_void(progress, now)
            self._reporter.poll(self._report(progress, now), now)

    def _submit(self, each: _CoreSet) -> None:
        arguments = (self._job, each.number, self._files)
        task = Task(f"core-set-{each.number}", core_set.run_core_set, arguments, self._job.cores)
        each.task = self._cluster.submit(task)

    def add(self, entrant: Entrant) -> None:
        """Do nothing: an entrant that joins a tournament on a cluster logs in by itself."""

    def remove(self, name: str) -> None:
        """End the processes of an entrant on all workers."""
        entrants = tuple(each for each in self._job.spec.entrants if each.name != name)
        self._job = replace(self._job, spec=replace(self._job.spec, entrants=entrants))
        for each in self._core_sets:
            if each.task:  # it may be handed out again
                each.task.arguments = (self._job, each.number, self._files)
        self._cluster.tell(core_set.remove_entrant, self._job.tournament, name)

    def stop(self) -> None:
        """Cancel all core sets, and wait for the end of their processes, at most some seconds."""
        self._cluster.stop(_STOP_S)
        self._cluster.close()

    def description(self, progress: TournamentProgress, now: float) -> str:
        """Return the workers, their cores, the matches, and the address of Dask's own pages."""
        cluster, waiting = self._cluster, self._waiting
        if not cluster.is_connected:
            return f"cluster {cluster.address}: no connection to the scheduler"
        per_hour = progress.matches_per_hour(now)  # None before the first match
        parts = [
            f"cluster {cluster.address}: {counted(len(cluster.workers), 'worker')}",
            counted(cluster.cores, "core"),
            f"{len(progress.ledger.running)} of {len(self._core_sets)} matches at once",
            *([f"{waiting} wait for free cores"] if waiting else []),
            *([f"{per_hour:,.0f} matches an hour"] if per_hour else []),
            *([self._dashboard] if self._dashboard else []),
        ]
        return ", ".join(parts)

    @property
    def _waiting(self) -> int:
        """The number of core sets that have no cores yet."""
        return sum(each.task is None or each.task.worker is None for each in self._core_sets)

    def _report(self, progress: TournamentProgress, now: float) -> ReportCluster:
        """Return the report about the cluster for the server."""
        places: dict[str, list[int]] = {}
        for each in self._core_sets:
            if each.task and each.task.worker is not None:
                places.setdefault(each.task.worker, []).append(each.number)
        workers = self._cluster.workers.values()
        return cluster_report(
            self._job.tournament,
            [(each, places.get(each.address, ())) for each in workers],
            waiting=self._waiting,
            matches_per_hour=progress.matches_per_hour(now),
            dashboard=self._dashboard,
        )

    # Events of the cluster.

    def _handle(self, event: Event, now: float) -> None:
        show = self._runner.show
        for line in self._cluster.news(event, "entrants"):
            show(line)
        match event:
            case Begun(task):
                self._of(task).restarts.succeeded()
            case Lost(task):
                self._lost(self._of(task))
            case Said(task, {"said": text}):
                self._crashed.update(each.name for each in self._job.spec.entrants)
                show(f"{task.worker}: {text}")
            case Said(_, {"crashing": name}):
                self._runner.withdraw(name)
            case Failed(task, error):
                show(f"Core set {self._of(task).number} has failed: {error.splitlines()[0]}")
                self._ended(self._of(task), now)
            case Done(task):
                self._ended(self._of(task), now)

    def _of(self, task: Task) -> _CoreSet:
        return next(each for each in self._core_sets if each.task is task)

    def _ended(self, ended: _CoreSet, now: float) -> None:
        """Handle a task that ended by itself, or that Dask has given up after losing workers."""
        self._lost(ended)
        ended.task = None
        ended.restarts.failed(now)

    def _lost(self, lost: _CoreSet) -> None:
        """Abort the matches of a core set whose processes have ended."""
        self._abort_later(self._played.pop(lost.number, ()))

    # Matches.

    def _abort_later(self, matches: Iterable[str]) -> None:
        self._void.update(dict.fromkeys(matches, 0.0))

    def _abort_void(self, progress: TournamentProgress, now: float) -> None:
        """Abort the matches without players, until the server confirms that."""
        for match, due_at in list(self._void.items()):
            if match not in progress.ledger.running:
                del self._void[match]
            elif now >= due_at:
                self._void[match] = now + _ABORT_AGAIN_S
                self._runner.abort(match, _LOST)
