"""What the runner tells the server about a cluster, and when."""

from __future__ import annotations

import pytest

pytest.importorskip("distributed")

from playout.cluster.workers import CheckedWorker
from playout.protocol.messages import ClusterWorker, ReportCluster
from playout.server.organizer.cluster_entrants import ClusterReporter, cluster_report


def report_of(waiting: int = 0, rate: float | None = None) -> ReportCluster:
    good = CheckedWorker("tcp://1", (), "lab1", 4, 800.0)
    faulty = CheckedWorker("tcp://2", ("it has no Playout",))
    workers = [(good, (1, 2)), (faulty, ())]
    return cluster_report("t", workers, waiting=waiting, matches_per_hour=rate, dashboard=None)


def test_a_report_has_each_worker_with_its_core_sets() -> None:
    assert report_of().workers == (
        ClusterWorker(host="lab1", cores=4, speed=800.0, core_sets=(1, 2)),
        ClusterWorker(host="tcp://2", cores=0),
    )


def test_a_report_is_sent_when_something_has_changed_and_now_and_then() -> None:
    sent: list[ReportCluster] = []
    reporter = ClusterReporter(sent.append)
    for now, waiting in ((0.0, 2), (0.2, 1), (0.6, 1), (0.8, 1), (10.0, 1), (10.7, 1)):
        reporter.poll(report_of(waiting, rate=now), now)
    assert [(each.waiting, each.matches_per_hour) for each in sent] == [
        (2, 0.0),
        (1, 0.6),
        (1, 10.7),
    ]
