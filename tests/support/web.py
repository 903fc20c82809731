"""An address and metrics for the pages of a server without sockets."""

from __future__ import annotations

from twisted.internet.address import IPv4Address

from playout.server.runtime.metrics import Metrics

HERE = IPv4Address("TCP", "127.0.0.1", 50000)


def metrics() -> Metrics:
    return Metrics(
        connections=lambda: 12,
        sessions=lambda: 0,
        matches=lambda: 0,
        accounts=lambda: 0,
        bots=lambda: 0,
        storage_up=lambda: True,
        database_bytes=lambda: 0,
        database_limit_bytes=lambda: 0,
        analyses_dropped=lambda: 0,
    )
