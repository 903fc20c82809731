"""The counters and histograms of the server, for Prometheus.

Counters are plain integers: those of prometheus_client take a lock each time, which one thread does
not need.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from prometheus_client.utils import INF, floatToGoString

from playout.protocol.messages import Code, Reason, ServerValue

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4

# The bounds of the buckets: 0.5 ms is a fast commit, 10 s a broken disk.
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_RECORDS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)


class Histogram:
    """Counts values by buckets. Only one thread may observe."""

    def __init__(self, name: str, text: str, bounds: tuple[float, ...]) -> None:
        self._name = name
        self._text = text
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        """Count a value, in the unit of the bounds."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def family(self) -> HistogramMetricFamily:
        """The histogram for Prometheus: each bucket includes those below it."""
        ends = map(floatToGoString, (*self._bounds, INF))
        buckets = list(zip(ends, itertools.accumulate(self._counts), strict=True))
        return HistogramMetricFamily(self._name, self._text, buckets=buckets, sum_value=self._sum)


class Metrics(Collector):
    """The metrics of one server, in their own registry."""

    def __init__(
        self,
        *,
        connections: Callable[[], int],
        sessions: Callable[[], int],
        matches: Callable[[], int],
        accounts: Callable[[], int],
        bots: Callable[[], int],
        storage_up: Callable[[], bool],
        database_bytes: Callable[[], int],
        database_limit_bytes: Callable[[], float],
        analyses_dropped: Callable[[], int],
    ) -> None:
        """The functions return current values; they are called by `text`, and must not raise."""
        self._now: tuple[tuple[str, str, Callable[[], float]], ...] = (
            ("connections", "Connections that are open.", connections),
            ("sessions", "Sessions, connected or expected back.", sessions),
            ("matches", "Matches that are being played.", matches),
            ("accounts", "Accounts that are registered.", accounts),
            ("bots", "Bots that the server has started.", bots),
            ("storage_up", "1 while the database can be written, otherwise 0.", storage_up),
            ("database_bytes", "Size of the database, 0 if it is unknown.", database_bytes),
            ("database_limit_bytes", "Limit of this size, 0 for none.", database_limit_bytes),
        )
        self._analyses_dropped = analyses_dropped
        self._connections = 0
        self._moves = 0
        self._stalls = 0
        self._stalled_s = 0.0
        self._rejected = 0
        # All labels exist from the start: a rate needs a value of 0 before the first event.
        self._ended = dict.fromkeys(Reason, 0)
        self._errors = dict.fromkeys(Code, 0)
        self._announcement_s = Histogram(
            "playout_announcement_seconds",
            "Time from a move's arrival to its announcement, after it was stored.",
            _SECONDS,
        )
        self._commit_s = Histogram(
            "playout_commit_seconds", "Duration of a transaction of the database.", _SECONDS
        )
        self._batch = Histogram(
            "playout_commit_records", "Number of records in a transaction.", _RECORDS
        )
        self._delay_s = Histogram(
            "playout_event_loop_delay_seconds",
            "Delay of a call of the event loop, measured twice a second.",
            _SECONDS,
        )
        self._registry = CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)

    def connected(self) -> None:
        """Count a connection that was opened."""
        self._connections += 1

    def announced(self, elapsed_s: float) -> None:
        """Count a move that was announced `elapsed_s` seconds after it had arrived."""
        self._moves += 1
        self._announcement_s.observe(elapsed_s)

    def ended(self, reason: Reason) -> None:
        """Count a match that has ended."""
        self._ended[reason] += 1

    def refused(self, code: Code) -> None:
        """Count an error that was sent."""
        self._errors[code] += 1

    def committed(self, elapsed_s: float, records: int) -> None:
        """Count a transaction that stored `records` in `elapsed_s` seconds."""
        self._commit_s.observe(elapsed_s)
        self._batch.observe(records)

    def rejected(self) -> None:
        """Count a record that could not be stored."""
        self._rejected += 1

    def delayed(self, elapsed_s: float) -> None:
        """Count a call that the event loop made `elapsed_s` seconds late."""
        self._delay_s.observe(elapsed_s)

    def stalled(self, elapsed_s: float) -> None:
        """Count a stall of the event loop that lasted `elapsed_s` seconds."""
        self._stalls += 1
        self._stalled_s += elapsed_s

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format, whose media type is `CONTENT_TYPE`."""
        return generate_latest(self._registry)

    def values(self) -> tuple[ServerValue, ...]:
        """Return the gauges and counters of the server, and the means of its histograms."""
        found = []
        for family in self.collect():
            samples = family.samples
            if family.type == "histogram":
                count, total = (
                    next(each.value for each in samples if each.name == f"{family.name}_{end}")
                    for end in ("count", "sum")
                )
                value = total / count if count else 0.0
                found.append(ServerValue(f"{family.name} (mean)", value, family.documentation))
                continue
            for sample in samples:
                if sample.value or not sample.labels:
                    name = " ".join([sample.name, *sample.labels.values()])
                    found.append(ServerValue(name, float(sample.value), family.documentation))
        return tuple(found)

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics; called by the registry."""
        for name, text, value in self._now:
            yield GaugeMetricFamily(f"playout_{name}", text, value())
        yield CounterMetricFamily("playout_connections", "Connections opened.", self._connections)
        yield CounterMetricFamily("playout_moves", "Moves announced.", self._moves)
        yield CounterMetricFamily(
            "playout_event_loop_stalls",
            "Stalls of the event loop of more than a few milliseconds.",
            self._stalls,
        )
        yield CounterMetricFamily(
            "playout_event_loop_stalled_seconds",
            "Duration of all stalls, in which clocks are stopped.",
            self._stalled_s,
        )
        yield CounterMetricFamily(
            "playout_records_rejected", "Records that the database cannot hold.", self._rejected
        )
        yield CounterMetricFamily(
            "playout_analyses_dropped",
            "Analyses of moves that were not stored because of a limit.",
            self._analyses_dropped(),
        )
        yield _by("matches_ended", "Matches that have ended.", "reason", self._ended)
        yield _by("errors", "Errors sent to clients.", "code", self._errors)
        for histogram in (self._announcement_s, self._commit_s, self._batch, self._delay_s):
            yield histogram.family()


def _by(name: str, text: str, label: str, counts: dict[Reason, int] | dict[Code, int]) -> Metric:
    family = CounterMetricFamily(f"playout_{name}", text, labels=[label])
    for key, count in counts.items():
        family.add_metric([key.value], count)
    return family
