"""Entrants on the workers of a Dask cluster: keeps all core sets of a tournament submitted.

It also reports to the server where the entrants run, for the tournament's page and for the records
of matches.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import structs

from playout.cluster.connection import DaskConnection, Message
from playout.cluster.worker_checks import WorkerChecks
from playout.commands.restarts import Restarts
from playout.commands.text import counted, plain
from playout.protocol.messages import ClusterWorker, Fixture, ReportCluster, Tournament
from playout.protocol.tournament_spec import Openings
from playout.server.organizer import estimate
from playout.server.organizer.cluster import core_set, preflight
from playout.server.organizer.cluster.job import ClusterJob
from playout.server.organizer.cluster.preflight import CheckedWorker
from playout.server.organizer.entrants import RunnerCalls, may_have_crashed, remaining
from playout.server.organizer.progress import TournamentProgress
from playout.server.organizer.supervisor import BACK_OFF

#: Seconds after which a match that is still running is aborted once more.
_ABORT_AGAIN_S = 1.0
#: Seconds that the workers may take to end all processes, and between two polls of that.
_STOP_S, _PAUSE_S = 5.0, 0.05
_LOST = "the worker with its players was lost"
#: Seconds between two reports to the server after a change, and without one: a server that was
#: started again needs them.
_CHANGED_S, _UNCHANGED_S = 0.5, 10.0
#: The most workers in a report, and characters of a host's name.
_MOST_WORKERS, _LONGEST_HOST = 1024, 64


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
        """Send the present report if it is due; a change of the rate alone does not count."""
        steady = structs.replace(present, matches_per_hour=None)
        if now >= self._sent_at + (_UNCHANGED_S if steady == self._sent else _CHANGED_S):
            self._sent, self._sent_at = steady, now
            self._send(present)


def _worker(worker: CheckedWorker, core_sets: Iterable[int]) -> ClusterWorker:
    answer = worker.answer
    return ClusterWorker(
        host=plain(answer.host if answer else worker.address)[:_LONGEST_HOST],
        cores=worker.cores,
        speed=answer.speed if answer else None,
        core_sets=tuple(core_sets),
    )


@dataclass
class _Submitted:
    """A submitted core set.

    `attempt` is part of its task's name. `run` identifies the last execution of the task, which
    began on `worker`.
    """

    number: int
    restarts: Restarts = field(default_factory=lambda: Restarts(BACK_OFF))
    attempt: int = 0
    future: Any = None
    run: str | None = None
    worker: str | None = None


class DaskEntrants:
    """The entrants of a tournament, on as many core sets as it has matches at once."""

    def __init__(
        self,
        event: Tournament,
        job: ClusterJob,
        connection: DaskConnection,
        workers: Iterable[CheckedWorker],
        runner: RunnerCalls,
    ) -> None:
        """`job` has the entrants with their programs; `workers` were checked."""
        names = {each.name for each in remaining(event)}
        entrants = tuple(each for each in job.spec.entrants if each.name in names)
        # Workers need no openings, of which there may be thousands.
        spec = replace(job.spec, entrants=entrants, openings=Openings())
        cores = estimate.match_cores(event.spec)
        self._job = replace(job, tournament=event.tournament, spec=spec, cores=cores)
        self._connection = connection
        self._runner = runner
        self._workers = {each.address: each for each in workers}
        self._core_sets = {
            number: _Submitted(number) for number in range(1, event.spec.concurrency + 1)
        }
        #: The matches on each core set; those to abort, with the time of the next attempt.
        self._played: dict[int, set[str]] = {}
        self._void: dict[str, float] = {}
        self._checks = WorkerChecks(connection, self._check)
        self._checks.start_silent(self._workers)
        #: The entrants whose crashes the core sets count.
        self._crashed: set[str] = set()
        self._is_begun = False
        self._is_connected = True
        self._dashboard = connection.dashboard
        self._reporter = ClusterReporter(runner.report_cluster)
        connection.subscribe(self._job.topic)

    def place(self, fixture: Fixture) -> None:
        """Note the core sets that play a match."""
        for number in fixture.processes:
            if number is not None and fixture.winner is None:
                self._played.setdefault(number, set()).add(fixture.match)
        if fixture.winner is not None:
            self._void.pop(fixture.match, None)
            for matches in self._played.values():
                matches.discard(fixture.match)

    def match_played(self, fixture: Fixture) -> None:
        """Have the workers forget the crashes of a match's players, if they have counted any."""
        for seat, name in enumerate(fixture.players, 1):
            if name in self._crashed and not may_have_crashed(fixture, seat):
                self._crashed.discard(name)
                self._tell(core_set.forget_crashes, name)

    def poll(self, progress: TournamentProgress, now: float, *, reachable: bool) -> None:
        """Submit the core sets that are due, and abort the matches of those that were lost."""
        self._notice_connection(now)
        if self._is_connected and progress.is_caught_up:
            if not self._is_begun:
                # Matches that another runner left have lost their players.
                self._abort_later(progress.ledger.running)
                self._is_begun = True
            for message in self._connection.messages():
                self._received(message)
            self._joined(self._checks.ended())
            for each in self._core_sets.values():
                self._keep_submitted(each, now)
        if reachable:
            self._abort_void(progress, now)
            self._reporter.poll(self._report(progress, now), now)

    def remove(self, name: str) -> None:
        """End the processes of an entrant on all workers."""
        entrants = tuple(each for each in self._job.spec.entrants if each.name != name)
        self._job = replace(self._job, spec=replace(self._job.spec, entrants=entrants))
        self._tell(core_set.remove_entrant, name)

    def stop(self) -> None:
        """Cancel all core sets, and wait for the end of their processes, at most some seconds."""
        self._connection.cancel(each.future for each in self._core_sets.values() if each.future)
        running = {each.run for each in self._core_sets.values() if each.run}
        give_up_at = time.monotonic() + _STOP_S
        while running and self._is_connected and time.monotonic() < give_up_at:
            for message in self._connection.messages():
                if "ended" in message:
                    running.discard(message.get("run"))
            time.sleep(_PAUSE_S)
        self._connection.close()

    def description(self, progress: TournamentProgress, now: float) -> str:
        """Return the workers, their cores, the matches, and the address of Dask's own pages."""
        if not self._is_connected:
            return f"cluster {self._connection.address}: no connection to the scheduler"
        waiting = self._waiting
        parts = [
            f"cluster {self._connection.address}: {counted(len(self._workers), 'worker')}",
            counted(sum(each.cores for each in self._workers.values()), "core"),
            f"{len(progress.ledger.running)} of {len(self._core_sets)} matches at once",
            *([f"{waiting} wait for free cores"] if waiting else []),
            *self._rate(progress, now),
            *([self._dashboard] if self._dashboard else []),
        ]
        return ", ".join(parts)

    @property
    def _waiting(self) -> int:
        """The number of core sets that have no cores yet."""
        return sum(each.run is None for each in self._core_sets.values())

    def _rate(self, progress: TournamentProgress, now: float) -> Sequence[str]:
        """Return the matches in an hour since the runner began; empty before the first."""
        per_hour = progress.matches_per_hour(now)
        return [f"{per_hour:,.0f} matches an hour"] if per_hour else []

    def _report(self, progress: TournamentProgress, now: float) -> ReportCluster:
        """Return the report about the cluster for the server."""
        places: dict[str, list[int]] = {}
        for each in self._core_sets.values():
            if each.worker is not None:
                places.setdefault(each.worker, []).append(each.number)
        return cluster_report(
            self._job.tournament,
            [(each, places.get(each.address, ())) for each in self._workers.values()],
            waiting=self._waiting,
            matches_per_hour=progress.matches_per_hour(now),
            dashboard=self._dashboard,
        )

    # The connection.

    def _notice_connection(self, now: float) -> None:
        was_connected, self._is_connected = self._is_connected, self._connection.poll(now)
        if was_connected and not self._is_connected:
            self._runner.show("The connection to the scheduler of Dask is lost; trying again ...")
            self._workers.clear()
            self._checks.clear()
            for each in self._core_sets.values():
                self._lost(each)
                each.future = None
        elif self._is_connected and not was_connected:
            self._runner.show("The scheduler of Dask is back")

    def _tell(self, call: Any, name: str) -> None:
        if self._is_connected:
            self._connection.ask_later(self._connection.run, call, self._job.tournament, name)

    def _received(self, message: Message) -> None:
        match message:
            case {"action": "add-worker", "worker": address}:
                self._checks.start([address])
            case {"action": "remove-worker", "worker": address}:
                self._worker_lost(address)
            case {"core_set": number, "run": run} if number in self._core_sets:
                self._reported(self._core_sets[number], run, message)

    def _check(self, workers: Sequence[str]) -> list[CheckedWorker]:
        return preflight.check(self._connection, self._job, workers)

    def _joined(self, workers: Sequence[CheckedWorker]) -> None:
        if any(each.cores for each in workers):
            self._submit_waiting_again()
        for each in workers:
            self._workers[each.address] = each
            for fault in each.faults:
                self._runner.show(f"Worker {each.address} gets no entrants: {fault}")

    # Core sets.

    def _submit_waiting_again(self) -> None:
        """Submit waiting tasks again: Dask does not give them cores that were offered later."""
        waiting = [each for each in self._core_sets.values() if each.future and each.run is None]
        self._connection.cancel(each.future for each in waiting)
        for each in waiting:
            each.future = None
            each.attempt += 1

    def _worker_lost(self, address: str) -> None:
        self._checks.worker_lost(address)
        if self._workers.pop(address, None) is not None:
            self._runner.show(f"Worker {address} is gone")
        for each in self._core_sets.values():
            if each.worker == address:
                self._lost(each)

    def _lost(self, lost: _Submitted) -> None:
        """Abort the matches of a core set whose processes have ended."""
        self._abort_later(self._played.pop(lost.number, ()))
        lost.run = lost.worker = None

    def _reported(self, known: _Submitted, run: str, message: Message) -> None:
        match message:
            case {"started": worker}:
                if known.run is not None:  # Dask has moved it before the loss was noticed
                    self._lost(known)
                known.run, known.worker = run, worker
                known.restarts.succeeded()
            case _ if run != known.run:
                return  # of an execution that is over
            case {"said": text}:
                self._crashed.update(each.name for each in self._job.spec.entrants)
                self._runner.show(f"{known.worker}: {text}")
            case {"crashing": name}:
                self._runner.withdraw(name)

    def _keep_submitted(self, each: _Submitted, now: float) -> None:
        if each.future is not None and each.future.status not in ("pending",):
            self._ended(each, now)
        if each.future is None and each.restarts.is_due(now):
            each.future = self._connection.submit(
                core_set.run_core_set,
                self._job,
                each.number,
                key=self._job.key(each.number, each.attempt),
                cores=self._job.cores,
            )

    def _ended(self, ended: _Submitted, now: float) -> None:
        """Handle a task that ended by itself, or that Dask has given up after losing workers."""
        if ended.future.status == "error":
            error = ended.future.exception()
            self._runner.show(f"Core set {ended.number} has failed: {_first_line(error)}")
        self._lost(ended)
        ended.future = None
        ended.attempt += 1
        ended.restarts.failed(now)

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


def _first_line(error: BaseException | None) -> str:
    lines = str(error).splitlines() if error else []
    return lines[0] if lines else type(error).__name__
