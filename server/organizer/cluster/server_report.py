"""What the runner tells the server about the cluster, for the page and for the matches' records."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from msgspec import structs

from playout.commands.text import plain
from playout.protocol.messages import ClusterWorker, ReportCluster
from playout.server.organizer.cluster.preflight import CheckedWorker

#: Seconds between two reports: after a change, and without one, which a server needs that was
#: started again.
_CHANGED_S, _UNCHANGED_S = 0.5, 10.0
#: The most workers in a report, and characters of a host's name.
_MOST, _LONGEST = 1024, 64


def report(
    tournament: str,
    workers: Iterable[tuple[CheckedWorker, Iterable[int]]],
    *,
    waiting: int,
    matches_per_hour: float | None,
    dashboard: str | None,
) -> ReportCluster:
    """The message about the workers, each with the core sets that run there."""
    return ReportCluster(
        id="report_cluster",
        tournament=tournament,
        workers=tuple(_worker(*each) for each in workers)[:_MOST],
        waiting=waiting,
        matches_per_hour=matches_per_hour,
        dashboard=dashboard,
    )


class ClusterReporter:
    """Sends the reports that are due."""

    def __init__(self, send: Callable[[ReportCluster], None]) -> None:
        self._send = send
        self._sent: ReportCluster | None = None
        self._sent_at = -math.inf

    def poll(self, present: ReportCluster, now: float) -> None:
        """Send the present report if it is due; the rate alone is no change."""
        steady = structs.replace(present, matches_per_hour=None)
        if now >= self._sent_at + (_UNCHANGED_S if steady == self._sent else _CHANGED_S):
            self._sent, self._sent_at = steady, now
            self._send(present)


def _worker(worker: CheckedWorker, core_sets: Iterable[int]) -> ClusterWorker:
    answer = worker.answer
    return ClusterWorker(
        host=plain(answer.host if answer else worker.address)[:_LONGEST],
        cores=worker.cores,
        speed=answer.speed if answer else None,
        core_sets=tuple(core_sets),
    )
