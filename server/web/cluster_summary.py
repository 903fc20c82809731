"""What the page of a tournament shows of the cluster on which its entrants run."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from server.model.messages import ClusterWorker, ReportCluster


@dataclass(frozen=True)
class ClusterHost:
    """The workers on a host, with their cores and core sets.

    `speed` is that of the slowest worker, divided by the median of all workers; None if unknown.
    """

    host: str
    workers: int
    cores: int
    core_sets: int
    speed: float | None


@dataclass(frozen=True)
class ClusterSummary:
    """The numbers of a cluster, and its hosts in the order of their names."""

    workers: int
    cores: int
    waiting: int
    matches_per_hour: float | None
    dashboard: str | None
    hosts: tuple[ClusterHost, ...]


def summary(report: ReportCluster) -> ClusterSummary:
    """The summary of what an organizer has reported."""
    speeds = [each.speed for each in report.workers if each.speed is not None]
    usual = statistics.median(speeds) if speeds else 1.0
    by_host: dict[str, list[ClusterWorker]] = {}
    for each in report.workers:
        by_host.setdefault(each.host, []).append(each)
    return ClusterSummary(
        workers=len(report.workers),
        cores=sum(each.cores for each in report.workers),
        waiting=report.waiting,
        matches_per_hour=report.matches_per_hour,
        dashboard=report.dashboard,
        hosts=tuple(_host(host, by_host[host], usual) for host in sorted(by_host)),
    )


def _host(host: str, workers: Sequence[ClusterWorker], usual: float) -> ClusterHost:
    speeds = [each.speed for each in workers if each.speed is not None]
    return ClusterHost(
        host=host,
        workers=len(workers),
        cores=sum(each.cores for each in workers),
        core_sets=sum(len(each.core_sets) for each in workers),
        speed=min(speeds) / usual if speeds else None,
    )
