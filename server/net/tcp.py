"""TCP, with TLS or without: frames in, frames out. All else is the hub's."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Factory
from twisted.protocols.basic import Int32StringReceiver
from twisted.python.failure import Failure

from server.model.codec import MAX_FRAME, MessageFormat, decode_request, encode
from server.model.messages import Code, Event
from server.net.connection import MAX_FIRST_FRAME, StreamConnection
from server.runtime.scheduler import LoopScheduler
from server.runtime.twisted_internals import has_partial_frame

if TYPE_CHECKING:
    from server.net.driver import Driver

_LENGTH = struct.Struct(">I").pack


def _framed(event: Event) -> bytes:
    body = encode(event)
    return _LENGTH(len(body)) + body


_LANGUAGE = MessageFormat(_framed, decode_request)


class TcpConnection(StreamConnection, Int32StringReceiver):
    """One client's line."""

    MAX_LENGTH = MAX_FIRST_FRAME
    language = _LANGUAGE

    def __init__(
        self, service: Driver, turn: LoopScheduler, *, unread_bytes: int, proxied: bool = False
    ) -> None:
        """`unread_bytes`: what is kept at most for one that does not read; 0 for any amount.

        `proxied`: a proxy says where it comes from, before anything else.
        """
        super().__init__(service, turn, unread_bytes=unread_bytes)
        self._unlocated = proxied

    def connectionMade(self) -> None:
        """The line is there."""
        self.opened()

    def dataReceived(self, data: bytes) -> None:
        """Bytes have come, most often those of one frame."""
        if self._unlocated:
            self._unlocated = False
            self._service.located(self)
        whole = len(data) - 4
        if (
            0 <= whole <= self.MAX_LENGTH
            and not has_partial_frame(self)
            and not self.paused
            and int.from_bytes(data[:4], "big") == whole
        ):
            self.stringReceived(data[4:])
        else:
            super().dataReceived(data)  # type: ignore[no-untyped-call]

    def stringReceived(self, frame: bytes) -> None:
        """A frame is complete."""
        if not self._closing:
            self._service.received(self, frame)

    def lengthLimitExceeded(self, length: int) -> None:
        """A frame is announced that nobody should send."""
        text = f"a frame has at most {self.MAX_LENGTH} bytes, not {length}"
        if self.MAX_LENGTH < MAX_FRAME:
            text += f"; after hello {MAX_FRAME}"
        self._service.refused(self, Code.FRAME_TOO_LARGE, text)
        self.close()

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        """The line is gone."""
        self.closed()

    def address(self) -> str | None:
        """Where it comes from, None as long as that is not known."""
        return None if self._unlocated else getattr(self.transport.getPeer(), "host", "")

    def trust(self, most: int) -> None:
        """It has said who it is: its frames may have so many bytes."""
        self.MAX_LENGTH = most

    def turn_away(self) -> None:
        """Read nothing, until `turn_to`."""
        Int32StringReceiver.pauseProducing(self)

    def turn_to(self) -> None:
        """Read what has come meanwhile, and what comes."""
        Int32StringReceiver.resumeProducing(self)


class TcpConnectionFactory(Factory):
    """Makes the lines as they come."""

    noisy = False

    def __init__(
        self, service: Driver, turn: LoopScheduler, *, unread_bytes: int, proxied: bool
    ) -> None:
        self._service = service
        self._turn = turn
        self._unread_bytes = unread_bytes
        self._proxied = proxied

    def buildProtocol(self, addr: IAddress | None) -> TcpConnection:
        """Somebody calls."""
        return TcpConnection(
            self._service, self._turn, unread_bytes=self._unread_bytes, proxied=self._proxied
        )
