"""The counters, gauges and histograms of the server, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from playout.protocol.messages import Code, Reason, ServerValue

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4

# The bounds of the buckets: 0.5 ms is a fast commit, 10 s a broken disk.
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_RECORDS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)

# Without it, each counter has another sample with the time at which it was made.
disable_created_metrics()  # type: ignore[no-untyped-call]

_GAUGES = {
    "connections": "Connections that are open.",
    "sessions": "Sessions, connected or expected back.",
    "matches": "Matches that are being played.",
    "accounts": "Accounts that are registered.",
    "bots": "Bots that the server has started.",
    "storage_up": "1 while the database can be written, otherwise 0.",
    "database_bytes": "Size of the database, 0 if it is unknown.",
    "database_limit_bytes": "Limit of this size, 0 for none.",
}


class Metrics:
    """The metrics of one server, in registries of their own.

    Gauges have one of them, because a gauge and a counter of a registry cannot have the same name.
    """

    def __init__(
        self, gauges: Mapping[str, Callable[[], float]], analyses_dropped: Callable[[], int]
    ) -> None:
        """The functions return current values; `text` and `values` call them.

        `gauges` has a function for each of the names in `_GAUGES`.
        """
        self._gauges, self._counters = CollectorRegistry(), CollectorRegistry()
        for name, text in _GAUGES.items():
            gauge = Gauge(f"playout_{name}", text, registry=self._gauges)
            gauge.set_function(gauges[name])

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"playout_{name}", text, labels, registry=self._counters)

        def histogram(name: str, text: str, bounds: tuple[float, ...]) -> Histogram:
            return Histogram(f"playout_{name}", text, registry=self._counters, buckets=bounds)

        self._connections = counter("connections", "Connections opened.")
        self._moves = counter("moves", "Moves announced.")
        self._stalls = counter(
            "event_loop_stalls", "Stalls of the event loop of more than a few milliseconds."
        )
        self._stalled_s = counter(
            "event_loop_stalled_seconds", "Duration of all stalls, in which clocks are stopped."
        )
        self._rejected = counter("records_rejected", "Records that the database cannot hold.")
        self._dropped = counter(
            "analyses_dropped", "Analyses of moves that were not stored because of a limit."
        )
        self._analyses_dropped = analyses_dropped
        #: The number of dropped analyses that the counter has.
        self._dropped_before = 0
        # All labels exist from the start: a rate needs a value of 0 before the first event.
        ended = counter("matches_ended", "Matches that have ended.", "reason")
        self._ended = {each: ended.labels(each.value) for each in Reason}
        errors = counter("errors", "Errors sent to clients.", "code")
        self._errors = {each: errors.labels(each.value) for each in Code}
        self._announcement_s = histogram(
            "announcement_seconds",
            "Time from a move's arrival to its announcement, after it was stored.",
            _SECONDS,
        )
        self._commit_s = histogram(
            "commit_seconds", "Duration of a transaction of the database.", _SECONDS
        )
        self._batch = histogram("commit_records", "Number of records in a transaction.", _RECORDS)
        self._delay_s = histogram(
            "event_loop_delay_seconds",
            "Delay of a call of the event loop, measured twice a second.",
            _SECONDS,
        )
        self._process = CollectorRegistry()
        ProcessCollector(registry=self._process)
        PlatformCollector(registry=self._process)

    def connected(self) -> None:
        """Count a connection that was opened."""
        self._connections.inc()

    def announced(self, elapsed_s: float) -> None:
        """Count a move that was announced `elapsed_s` seconds after it had arrived."""
        self._moves.inc()
        self._announcement_s.observe(elapsed_s)

    def ended(self, reason: Reason) -> None:
        """Count a match that has ended."""
        self._ended[reason].inc()

    def refused(self, code: Code) -> None:
        """Count an error that was sent."""
        self._errors[code].inc()

    def committed(self, elapsed_s: float, records: int) -> None:
        """Count a transaction that stored `records` in `elapsed_s` seconds."""
        self._commit_s.observe(elapsed_s)
        self._batch.observe(records)

    def rejected(self) -> None:
        """Count a record that could not be stored."""
        self._rejected.inc()

    def delayed(self, elapsed_s: float) -> None:
        """Count a call that the event loop made `elapsed_s` seconds late."""
        self._delay_s.observe(elapsed_s)

    def stalled(self, elapsed_s: float) -> None:
        """Count a stall of the event loop that lasted `elapsed_s` seconds."""
        self._stalls.inc()
        self._stalled_s.inc(elapsed_s)

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format, whose media type is `CONTENT_TYPE`."""
        self._count_dropped()
        return b"".join(map(generate_latest, (self._gauges, self._counters, self._process)))

    def values(self) -> tuple[ServerValue, ...]:
        """Return the gauges and counters of the server, and the means of its histograms."""
        self._count_dropped()
        found = []
        for family in (*self._gauges.collect(), *self._counters.collect()):
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

    def _count_dropped(self) -> None:
        """Count the analyses that were dropped since the last call."""
        dropped = self._analyses_dropped()
        self._dropped.inc(dropped - self._dropped_before)
        self._dropped_before = dropped
