"""HTTP clients, an address and metrics for the pages of a server without sockets."""

from __future__ import annotations

import gzip
from collections import defaultdict
from typing import Any

from twisted.internet.address import IPv4Address
from twisted.internet.testing import StringTransport

from playout.server.runtime.metrics import Metrics

HERE = IPv4Address("TCP", "127.0.0.1", 50000)


def metrics() -> Metrics:
    gauges = defaultdict(lambda: lambda: 0.0) | {"connections": lambda: 12.0}
    return Metrics(gauges, analyses_dropped=lambda: 0)


class HttpClientLine:
    def __init__(self, protocol: Any, peer: IPv4Address) -> None:
        self.protocol = protocol
        self.transport = StringTransport(peerAddress=peer)
        protocol.makeConnection(self.transport)

    @property
    def open(self) -> bool:
        return not self.transport.disconnecting

    def say(self, data: bytes) -> None:
        self.protocol.dataReceived(data)

    def response(self) -> Response:
        return Response(self.transport.value())

    def hang_up(self) -> None:
        self.protocol.connectionLost(None)


class Response:
    """The response in its parts."""

    def __init__(self, data: bytes) -> None:
        head, _, body = data.partition(b"\r\n\r\n")
        status, *lines = head.decode().split("\r\n")
        self.status = int(status.split()[1])
        self.headers = dict(line.split(": ", 1) for line in lines)
        packed = self.headers.get("Content-Encoding") == "gzip"
        self.size = len(body)
        self.body = (gzip.decompress(body) if packed else body).decode()
