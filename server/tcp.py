"""TCP: frames in, frames out. All else is the hub's."""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING, Any

from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Factory
from twisted.protocols.basic import Int32StringReceiver
from twisted.python.failure import Failure

from server.messages import Code
from server.wire import MAX_FRAME

if TYPE_CHECKING:
    from server.service import Service

# Where Linux keeps the shortest round trip of late, in microseconds, in `struct tcp_info`. The mean
# would count the time that a client's system takes to acknowledge what its program need not answer.
_MIN_RTT_OFFSET = 148
_UNKNOWN = 2**32 - 1


class Connection(Int32StringReceiver):
    """One client's line."""

    MAX_LENGTH = MAX_FRAME
    transport: Any  # ITCPTransport, whose methods, being declared by zope, have no `self`

    def __init__(self, service: Service, number: int) -> None:
        self.number = number
        self._service = service
        self._closing = False

    def connectionMade(self) -> None:
        """The line is there."""
        self.transport.setTcpNoDelay(True)
        self.transport.setTcpKeepAlive(True)
        # Who does not read the answers is not asked for more questions.
        self.transport.registerProducer(self, streaming=True)
        self._service.connected(self)

    def stringReceived(self, frame: bytes) -> None:
        """A frame is complete."""
        if not self._closing:
            self._service.received(self, frame)

    def lengthLimitExceeded(self, length: int) -> None:
        """A frame is announced that nobody should send."""
        text = f"a frame has at most {MAX_FRAME} bytes, not {length}"
        self._service.refused(self, Code.FRAME_TOO_LARGE, text)
        self.close()

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        """The line is gone."""
        self._service.disconnected(self)

    def close(self) -> None:
        """Say no more and hear no more; what was said still goes out."""
        self._closing = True
        self.transport.unregisterProducer()
        self.transport.loseConnection()

    def lag_s(self) -> float:
        """How long there and back takes, as the system measured it; 0 if it does not say."""
        if not hasattr(socket, "TCP_INFO"):
            return 0.0
        info = self.transport.socket.getsockopt(
            socket.IPPROTO_TCP, socket.TCP_INFO, _MIN_RTT_OFFSET + 4
        )
        if len(info) < _MIN_RTT_OFFSET + 4:
            return 0.0
        (round_trip_us,) = struct.unpack_from("=I", info, _MIN_RTT_OFFSET)
        return 0.0 if round_trip_us == _UNKNOWN else round_trip_us / 1e6


class Connections(Factory):
    """Numbers the lines as they come."""

    noisy = False

    def __init__(self, service: Service) -> None:
        self._service = service
        self._next = 1

    def buildProtocol(self, addr: IAddress | None) -> Connection:
        """Somebody calls."""
        connection = Connection(self._service, self._next)
        self._next += 1
        return connection
