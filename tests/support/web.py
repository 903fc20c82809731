"""An address and metrics for the pages of a server without sockets."""

from __future__ import annotations

from collections import defaultdict

from twisted.internet.address import IPv4Address

from playout.server.runtime.metrics import Metrics

HERE = IPv4Address("TCP", "127.0.0.1", 50000)


def metrics() -> Metrics:
    gauges = defaultdict(lambda: lambda: 0.0) | {"connections": lambda: 12.0}
    return Metrics(gauges, analyses_dropped=lambda: 0)
