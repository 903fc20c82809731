"""The cluster of a tournament on its page."""

from __future__ import annotations

from types import SimpleNamespace

from playout.protocol.messages import ClusterWorker, ReportCluster
from playout.server.web.pages.tournaments import ClusterHost, cluster_summary
from playout.server.web.templates import render
from playout.server.web.texts import ENGLISH

REPORT = ReportCluster(
    tournament="t",
    workers=(
        ClusterWorker(host="lab<2>", cores=4, speed=400.0, core_sets=(4,)),
        ClusterWorker(host="lab1", cores=2, speed=800.0, core_sets=(1, 2)),
        ClusterWorker(host="lab1", cores=1, speed=1000.0, core_sets=(3,)),
        ClusterWorker(host="lab3"),
    ),
    waiting=2,
    matches_per_hour=5400.4,
    dashboard="http://lab1:8787/status",
)


def test_the_workers_of_a_host_are_one_row_with_the_slowest() -> None:
    assert cluster_summary(REPORT).hosts == (
        ClusterHost("lab1", 2, 3, 3, 1.0),
        ClusterHost("lab3", 1, 0, 0, None),
        ClusterHost("lab<2>", 1, 4, 1, 0.5),
    )


def test_the_page_shows_the_cluster_and_leads_to_its_own_pages() -> None:
    empty = SimpleNamespace(total=3, items=[], pages=1)
    record = SimpleNamespace(
        report=SimpleNamespace(pairs=None, done=0),
        spec=SimpleNamespace(concurrency=6),
        reporter=None,
        is_local=False,
        started_at=0.0,
        ended_at=None,
        paused=False,
        tournament="t",
    )
    page = render(
        "tournament_progress.html",
        ENGLISH,
        record=record,
        running=empty,
        faults=(),
        cluster=cluster_summary(REPORT),
        headline="",
        summary=(),
        left_s=None,
        planned_at=None,
    ).decode()
    for text in ("4 workers", "7 cores", "3 matches of 6 at once", "2 core sets without cores",
                 "5,400 matches an hour", "lab&lt;2&gt;", ">50%<"):  # fmt: skip
        assert text in page
    assert '<a href="http://lab1:8787/status" rel="noreferrer">' in page
