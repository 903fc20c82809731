"""Where the entrants of running tournaments are: what their organizers have reported last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from playout.protocol.messages import ReportCluster
from playout.server.core.sessions import Session


@dataclass(frozen=True)
class _Reported:
    """A report, the session that has sent it, and the speed of each core set in it."""

    report: ReportCluster
    session: str
    speeds: Mapping[int, float]


class ClusterReports:
    """The last report about the cluster of each tournament that has one."""

    def __init__(self) -> None:
        self._reported: dict[str, _Reported] = {}

    def put(self, report: ReportCluster, session: Session) -> None:
        """Take a report in place of the one before."""
        speeds = {
            core_set: worker.speed
            for worker in report.workers
            if worker.speed is not None
            for core_set in worker.core_sets
        }
        self._reported[report.tournament] = _Reported(report, session.key, speeds)

    def of(self, tournament: str) -> ReportCluster | None:
        """The report about a tournament; None if there is none."""
        reported = self._reported.get(tournament)
        return reported.report if reported else None

    def speed(self, tournament: str, core_set: int | None) -> float | None:
        """The speed of the cores of a core set; None if it is not known."""
        reported = self._reported.get(tournament)
        return reported.speeds.get(core_set) if reported and core_set is not None else None

    def forget(self, tournament: str) -> None:
        """Forget the report about a tournament that is over."""
        self._reported.pop(tournament, None)

    def session_ended(self, session: Session) -> None:
        """Forget the reports of a session: nobody corrects them any more."""
        for tournament, each in list(self._reported.items()):
            if each.session == session.key:
                del self._reported[tournament]
