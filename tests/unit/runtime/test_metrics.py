"""The counters of the server, read as by Prometheus."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from playout.protocol.messages import Code, Reason
from playout.server.runtime.metrics import Metrics
from playout.server.runtime.scheduler import EVERY_S, DelayMeter

Samples = dict[str, float]


@dataclass
class CountedServer:
    """The values of the gauges."""

    connections: int = 0
    sessions: int = 0
    matches: int = 0
    accounts: int = 0
    bots: int = 0
    storage_up: bool = True
    database_bytes: int = 0
    database_limit_bytes: float = 0.0
    analyses_dropped: int = 0


def metrics_of(counted: CountedServer) -> Metrics:
    names = [each.name for each in fields(counted) if each.name != "analyses_dropped"]
    return Metrics(
        {name: partial(getattr, counted, name) for name in names},
        analyses_dropped=lambda: counted.analyses_dropped,
    )


def read(metrics: Metrics) -> Samples:
    """Every sample, by its name and labels as they are written."""
    samples: Samples = {}
    for family in text_string_to_metric_families(metrics.text().decode()):
        assert family.documentation, family.name
        for sample in family.samples:
            labels = ",".join(f'{key}="{value}"' for key, value in sample.labels.items())
            name = f"{sample.name}{{{labels}}}" if labels else sample.name
            assert name not in samples
            samples[name] = sample.value
    return samples


@pytest.fixture
def metrics() -> Metrics:
    return metrics_of(CountedServer())


def test_gauges_show_the_values_at_the_time_of_reading() -> None:
    counted = CountedServer()
    metrics = metrics_of(counted)
    assert read(metrics)["playout_matches"] == 0
    assert read(metrics)["playout_storage_up"] == 1
    counted.connections, counted.sessions, counted.matches, counted.accounts = 4, 3, 2, 1
    counted.bots = 5
    counted.storage_up = False
    seen = read(metrics)
    assert seen["playout_connections"] == 4
    assert seen["playout_sessions"] == 3
    assert seen["playout_matches"] == 2
    assert seen["playout_accounts"] == 1
    assert seen["playout_bots"] == 5
    assert seen["playout_storage_up"] == 0


def test_dropped_analyses_are_counted_once_each() -> None:
    counted = CountedServer(analyses_dropped=3)
    metrics = metrics_of(counted)
    assert read(metrics)["playout_analyses_dropped_total"] == 3
    counted.analyses_dropped = 5
    values = {each.name: each.value for each in metrics.values()}
    assert values["playout_analyses_dropped_total"] == 5
    assert read(metrics)["playout_analyses_dropped_total"] == 5


def test_events_are_counted(metrics: Metrics) -> None:
    metrics.connected()
    metrics.announced(0.003)
    metrics.announced(0.004)
    metrics.rejected()
    metrics.ended(Reason.TIME)
    metrics.refused(Code.WRONG_PLY)
    metrics.refused(Code.WRONG_PLY)
    seen = read(metrics)
    assert seen["playout_connections_total"] == 1
    assert seen["playout_moves_total"] == 2
    assert seen["playout_records_rejected_total"] == 1
    assert seen['playout_matches_ended_total{reason="time"}'] == 1
    assert seen['playout_errors_total{code="wrong_ply"}'] == 2


def test_every_reason_and_code_is_there_before_it_happens(metrics: Metrics) -> None:
    seen = read(metrics)
    for reason in Reason:
        assert seen[f'playout_matches_ended_total{{reason="{reason.value}"}}'] == 0
    for code in Code:
        assert seen[f'playout_errors_total{{code="{code.value}"}}'] == 0


def test_a_bucket_holds_what_is_at_most_its_bound(metrics: Metrics) -> None:
    for elapsed_s in (0.0004, 0.001, 0.0011, 99.0):
        metrics.announced(elapsed_s)
    seen = read(metrics)
    name = "playout_announcement_seconds"
    assert seen[f'{name}_bucket{{le="0.0005"}}'] == 1
    assert seen[f'{name}_bucket{{le="0.001"}}'] == 2
    assert seen[f'{name}_bucket{{le="0.0025"}}'] == 3
    assert seen[f'{name}_bucket{{le="10.0"}}'] == 3
    assert seen[f'{name}_bucket{{le="+Inf"}}'] == seen[f"{name}_count"] == 4
    assert seen[f"{name}_sum"] == pytest.approx(99.0025)


def test_a_commit_has_a_duration_and_a_size(metrics: Metrics) -> None:
    metrics.committed(0.002, 7)
    seen = read(metrics)
    assert seen["playout_commit_seconds_sum"] == pytest.approx(0.002)
    assert seen['playout_commit_records_bucket{le="5.0"}'] == 0
    assert seen['playout_commit_records_bucket{le="10.0"}'] == 1


def test_the_process_and_the_python_it_runs_are_described(metrics: Metrics) -> None:
    seen = read(metrics)
    assert seen["process_resident_memory_bytes"] > 0
    assert any(name.startswith("python_info{") for name in seen)


def test_servers_in_one_process_count_for_themselves(metrics: Metrics) -> None:
    other = metrics_of(CountedServer(matches=5))
    other.announced(0.001)
    assert read(other)["playout_moves_total"] == 1
    assert read(other)["playout_matches"] == 5
    assert read(metrics)["playout_moves_total"] == 0
    assert read(metrics)["playout_matches"] == 0


def test_every_metric_is_in_the_guide(metrics: Metrics) -> None:
    guide = (Path(__file__).parents[3] / "docs" / "monitoring.md").read_text()
    described = set(re.findall(r"^\| `(playout_\w+)[`{]", guide, re.MULTILINE))
    ours = re.findall(r"^# TYPE (playout_\w+) (\w+)$", metrics.text().decode(), re.MULTILINE)
    assert described == {name for name, _ in ours}
    for name, kind in ours:
        assert re.search(rf"`{name}[`{{].* \| {kind} \|", guide), (name, kind)


class SlowTimer:
    """A timer whose time and calls the test controls."""

    def __init__(self) -> None:
        self.now = 100.0
        self.due = 0.0

    def callLater(self, delay: float, function: object) -> SlowTimer:
        self.due = self.now + delay
        self.function = function
        return self

    def active(self) -> bool:
        return True

    def cancel(self) -> None:
        pass

    def call(self, late_s: float) -> None:
        self.now = self.due + late_s
        assert callable(self.function)
        self.function()


def test_the_event_loop_is_as_late_as_its_call() -> None:
    timer, delays = SlowTimer(), list[float]()
    DelayMeter(timer, delays.append, lambda: timer.now).start()
    assert timer.due == 100.0 + EVERY_S
    for late_s in (0.0, 0.25, 0.125):
        timer.call(late_s)
    assert delays == [0.0, 0.25, 0.125], "each is measured from when it was asked for"


def test_the_values_for_administrators_are_those_for_prometheus() -> None:
    metrics = metrics_of(CountedServer(matches=3))
    metrics.refused(Code.INVALID)
    for seconds in (0.25, 0.75):
        metrics.announced(seconds)
    values = {each.name: each.value for each in metrics.values()}
    assert values["playout_announcement_seconds (mean)"] == 0.5
    assert (values["playout_matches"], values["playout_storage_up"]) == (3.0, 1.0)
    assert values["playout_errors_total invalid"] == 1.0
    assert "playout_errors_total internal" not in values
    assert all(type(each) is float for each in values.values())
