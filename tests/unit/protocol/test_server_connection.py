"""playout.protocol.connection without a socket."""

from __future__ import annotations

from twisted.internet.testing import MemoryReactorClock, StringTransport

from playout.protocol.codec import encode
from playout.protocol.connection import ServerConnection, _Protocol
from playout.protocol.messages import Ping


class Listener:
    def __init__(self) -> None:
        self.connections = 0

    def connected(self) -> None:
        self.connections += 1


class SocketTransport(StringTransport):
    def setTcpNoDelay(self, enabled: bool) -> None:
        pass


def test_requests_are_sent_on_a_connection_only_which_a_reconnection_closes() -> None:
    listener = Listener()
    connection = ServerConnection(MemoryReactorClock(), ("127.0.0.1", 1), listener, 10.0)
    connection.send(Ping(id=1))
    connection.reconnect()
    transport, protocol = SocketTransport(), _Protocol(connection)
    protocol.makeConnection(transport)
    assert listener.connections == 1
    connection.send(Ping(id=2))
    body = encode(Ping(id=2))
    assert transport.value() == len(body).to_bytes(4, "big") + body
    assert not transport.disconnecting
    connection.reconnect()
    assert transport.disconnecting
