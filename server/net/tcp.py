"""TCP connections, with or without TLS: decodes bytes into frames, and encodes messages."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from twisted.internet.interfaces import IAddress, IHandshakeListener
from twisted.internet.protocol import Factory
from twisted.protocols.basic import Int32StringReceiver
from twisted.python.failure import Failure
from zope.interface import implementer

from playout.protocol.codec import MAX_FRAME, MessageFormat, decode_request, encode
from playout.protocol.messages import Code, Event
from playout.server.net.connection import MAX_FIRST_FRAME, OutputLimits, StreamConnection
from playout.server.runtime.scheduler import LoopScheduler

if TYPE_CHECKING:
    from playout.server.net.driver import Driver

_LENGTH = struct.Struct(">I").pack


def _framed(event: Event) -> bytes:
    body = encode(event)
    return _LENGTH(len(body)) + body


_FORMAT = MessageFormat(_framed, decode_request)


@implementer(IHandshakeListener)
class TcpConnection(StreamConnection, Int32StringReceiver):
    """The connection of one client over TCP."""

    MAX_LENGTH = MAX_FIRST_FRAME
    format = _FORMAT

    def __init__(
        self,
        driver: Driver,
        scheduler: LoopScheduler,
        *,
        output: OutputLimits,
        proxied: bool = False,
    ) -> None:
        """`output`: the limits on output that the peer does not read.

        `proxied`: a proxy announces the client's address before anything else.
        """
        super().__init__(driver, scheduler, output=output)
        self._unlocated = proxied

    def connectionMade(self) -> None:
        """Called by Twisted: the connection is open."""
        self.opened()

    def handshakeCompleted(self) -> None:
        """Called by Twisted: the handshake of TLS is complete."""
        self._awaits_tls = False

    def dataReceived(self, data: bytes) -> None:
        """Called by Twisted: bytes have arrived."""
        if self._unlocated:
            self._unlocated = False
            self._driver.located(self)
        self.must_wait()
        super().dataReceived(data)  # type: ignore[no-untyped-call]

    def stringReceived(self, frame: bytes) -> None:
        """Called by Twisted: a frame is complete."""
        if not self._closing:
            self._driver.received(self, frame)
            self.must_wait()

    def lengthLimitExceeded(self, length: int) -> None:
        """Called by Twisted: a frame is announced that is longer than `MAX_LENGTH`."""
        text = f"a frame has at most {self.MAX_LENGTH} bytes, not {length}"
        if self.MAX_LENGTH < MAX_FRAME:
            text += f"; after hello {MAX_FRAME}"
        self._driver.refused(self, Code.FRAME_TOO_LARGE, text)
        self.close()

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        """Called by Twisted: the connection is closed."""
        self.closed()

    def address(self) -> str | None:
        """Return the client's IP address; None until a proxy has announced it."""
        return None if self._unlocated else getattr(self.transport.getPeer(), "host", "")

    def set_frame_limit(self, most: int) -> None:
        """Allow frames of up to `most` bytes, now that the client has said hello."""
        self.MAX_LENGTH = most

    def stop_reading(self) -> None:
        """Handle no more frames until `start_reading`."""
        Int32StringReceiver.pauseProducing(self)

    def start_reading(self) -> None:
        """Handle the frames since `stop_reading`, and further ones."""
        Int32StringReceiver.resumeProducing(self)


class TcpConnectionFactory(Factory):
    """Makes a `TcpConnection` for each client that connects."""

    noisy = False

    def __init__(
        self,
        driver: Driver,
        scheduler: LoopScheduler,
        *,
        output: OutputLimits,
        proxied: bool,
        is_own: bool = False,
    ) -> None:
        """The parameters are those of each `TcpConnection`."""
        self._is_own = is_own
        self._driver = driver
        self._scheduler = scheduler
        self._output = output
        self._proxied = proxied

    def buildProtocol(self, addr: IAddress | None) -> TcpConnection:
        """Called by Twisted: a client connects."""
        connection = TcpConnection(
            self._driver, self._scheduler, output=self._output, proxied=self._proxied
        )
        connection.is_own = self._is_own
        return connection
