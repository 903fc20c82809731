"""TCP connections, with or without TLS: decodes bytes into frames, and encodes messages."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from twisted.internet.interfaces import IAddress, IHandshakeListener
from twisted.internet.protocol import Factory, Protocol
from twisted.python.failure import Failure
from zope.interface import implementer

from playout.protocol.codec import MAX_FRAME, MessageFormat, decode_request, encode
from playout.protocol.messages import Code, Event
from playout.server.net.connection import MAX_FIRST_FRAME, OutputLimits, StreamConnection
from playout.server.runtime.scheduler import LoopScheduler

if TYPE_CHECKING:
    from playout.server.net.driver import Driver

#: The length of a frame, before its body.
_LENGTH = struct.Struct(">I")


def _framed(event: Event) -> bytes:
    body = encode(event)
    return _LENGTH.pack(len(body)) + body


_FORMAT = MessageFormat(_framed, decode_request)


@implementer(IHandshakeListener)
class TcpConnection(StreamConnection, Protocol):
    """The connection of one client over TCP."""

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
        self._address: str | None = None
        self._max_bytes = MAX_FIRST_FRAME
        #: Input that was not handled yet.
        self._input = bytearray()

    def connectionMade(self) -> None:
        """Called by Twisted: the connection is open."""
        self.opened()

    def handshakeCompleted(self) -> None:
        """Called by Twisted: the handshake of TLS is complete."""
        self._awaits_tls = False

    def dataReceived(self, data: bytes) -> None:
        """Called by Twisted: bytes have arrived, most often those of one frame."""
        if self._closing:
            return
        if self._unlocated:
            self._unlocated = False
            self._driver.located(self)
        size = len(data) - _LENGTH.size
        whole = not self._input and size == int.from_bytes(data[:4], "big") <= self._max_bytes
        if whole and not self.must_wait():
            self._driver.received(self, data[4:])
            return
        self._input += data
        if not whole:
            self.handle_input()

    def handle_input(self) -> None:
        """Handle the frames that wait, until `must_wait`."""
        data = self._input
        while len(data) >= _LENGTH.size and not self.must_wait():
            (length,) = _LENGTH.unpack_from(data)
            if length > self._max_bytes:
                self._refuse(length)
                return
            end = _LENGTH.size + length
            if len(data) < end:
                return
            frame = bytes(data[_LENGTH.size : end])
            del data[:end]
            self._driver.received(self, frame)

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        """Called by Twisted: the connection is closed."""
        self.closed()

    def address(self) -> str | None:
        """Return the client's IP address; None until a proxy has announced it."""
        if self._address is None and not self._unlocated:
            self._address = getattr(self.transport.getPeer(), "host", "")
        return self._address

    def set_frame_limit(self, most: int) -> None:
        """Allow frames of up to `most` bytes, now that the client has said hello."""
        self._max_bytes = most

    def _refuse(self, length: int) -> None:
        text = f"a frame has at most {self._max_bytes} bytes, not {length}"
        if self._max_bytes < MAX_FRAME:
            text += f"; after hello {MAX_FRAME}"
        self._driver.refused(self, Code.FRAME_TOO_LARGE, text)
        self.close()


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
