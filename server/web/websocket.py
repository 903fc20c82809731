"""WebSocket: a line that speaks the protocol as JSON, one message of text for each of its own."""

from __future__ import annotations

import base64
import binascii
import struct
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from twisted.internet.protocol import Protocol
from twisted.python.failure import Failure
from twisted.web import http
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request
from wsproto.frame_protocol import CloseReason, Frame, FrameProtocol, Opcode, ParseFailed
from wsproto.utilities import generate_accept_token

from server.core.rate_limits import BURST_S, TokenBucket, is_address
from server.model.codec import MAX_FRAME, MessageFormat, decode_json_request, encode_json
from server.model.messages import Code, Event
from server.net.connection import MAX_FIRST_FRAME, StreamConnection
from server.runtime.scheduler import LoopScheduler
from server.web.http import HttpError, as_text, send

if TYPE_CHECKING:
    from server.net.driver import Driver

_UPGRADE_REQUIRED = 426

PING_S = 20.0
#: Pings that are not answered before somebody is taken for gone.
MISSED_PINGS = 2
#: Pings and pieces of messages a second, which no client needs, but a hostile one has for nothing.
PIECES_PER_S = 50.0

_TEXT = 0x81  # a whole message of text
_PING = b"\x89\x00"
_SHORT, _LONG, _LONGEST = struct.Struct("!BB"), struct.Struct("!BBH"), struct.Struct("!BBQ")


def _framed(event: Event) -> bytes:
    """RFC 6455, section 5.2. Made once for all who are told, which wsproto's frames are not."""
    body = encode_json(event)
    size = len(body)
    if size < 126:
        return _SHORT.pack(_TEXT, size) + body
    if size < 2**16:
        return _LONG.pack(_TEXT, 126, size) + body
    return _LONGEST.pack(_TEXT, 127, size) + body


_FORMAT = MessageFormat(_framed, decode_json_request)


class WebSocketResource(Resource):
    """Where a browser asks for a line."""

    isLeaf = True

    def __init__(
        self,
        driver: Driver,
        scheduler: LoopScheduler,
        timer: Any,
        *,
        unread_bytes: int,
        proxied: bool,
        local: bool,
    ) -> None:
        """`timer` is Twisted's reactor. `proxied`: a proxy says where each request comes from.

        `local`: nobody else's machine reaches this one. Then no other host has a page here.
        """
        super().__init__()  # type: ignore[no-untyped-call]
        self._driver = driver
        self._scheduler = scheduler
        self._timer = timer
        self._unread_bytes = unread_bytes
        self._proxied = proxied
        self._local = local

    def render(self, request: Request) -> int:
        """Make the line, or say why not."""
        try:
            key = _key(request)
            _require_own_page(request, self._local)
        except HttpError as refused:
            send(request, as_text(refused))
            return NOT_DONE_YET
        address = _address(request) if self._proxied else None
        line = WebSocketConnection(
            self._driver, self._scheduler, self._timer, address, unread_bytes=self._unread_bytes
        )
        channel: Any = request.channel
        channel.switch(line, _ACCEPTED % generate_accept_token(key))
        return NOT_DONE_YET


class WebSocketConnection(StreamConnection, Protocol):
    """One client's line."""

    format = _FORMAT

    def __init__(
        self,
        driver: Driver,
        scheduler: LoopScheduler,
        timer: Any,
        address: str | None,
        *,
        unread_bytes: int,
    ) -> None:
        """`address`: where it comes from, if not where the transport says."""
        super().__init__(driver, scheduler, unread_bytes=unread_bytes)
        self._timer = timer
        self._address = address
        self._frames = FrameProtocol(client=False, extensions=[])
        self._message = bytearray()
        self._most = MAX_FIRST_FRAME
        self._pieces = TokenBucket(PIECES_PER_S, PIECES_PER_S * BURST_S, timer.seconds())
        self._missed = 0
        self._next_ping: Any = None

    def connectionMade(self) -> None:
        """The line is there."""
        self._next_ping = self._timer.callLater(PING_S, self._ping)
        self.opened()

    def dataReceived(self, data: bytes) -> None:
        """Bytes have come."""
        self._frames.receive_bytes(data)
        self._read()

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        """The line is gone."""
        if self._next_ping.active():
            self._next_ping.cancel()
        self.closed()

    def address(self) -> str | None:
        """Where it comes from."""
        return self._address or getattr(self.transport.getPeer(), "host", "")

    def set_frame_limit(self, most: int) -> None:
        """It has said who it is: its messages may have so many bytes."""
        self._most = most

    def close(self) -> None:
        """Say no more and hear no more; what was said still goes out."""
        self._end(CloseReason.NORMAL_CLOSURE, "")

    def stop_reading(self) -> None:
        """Read nothing, until `start_reading`."""
        self.transport.pauseProducing()

    def start_reading(self) -> None:
        """Read what has come meanwhile, and what comes."""
        self.transport.resumeProducing()
        self._read()

    def stopProducing(self) -> None:
        """Nothing can be sent any more."""
        self._closing = True

    def _read(self) -> None:
        if self._paused_by or self._closing:
            return
        try:
            for frame in self._frames.received_frames():
                self._take(frame)
                if self._paused_by or self._closing:
                    return
        except ParseFailed as fault:
            self._refuse(Code.MALFORMED, str(fault), fault.code)

    def _take(self, frame: Frame) -> None:
        """A frame, or as much of it as is there."""
        whole = frame.opcode is Opcode.TEXT and frame.message_finished
        if frame.frame_finished and not whole and self._pieces.take(self._timer.seconds()):
            self._refuse(Code.RATE_LIMITED, "too many frames that are no message",
                         CloseReason.POLICY_VIOLATION)  # fmt: skip
            return
        match frame.opcode, frame.payload:
            case Opcode.TEXT, str() as text:
                self._message += text.encode()
                self._take_text(whole)
            case Opcode.PING, bytes() as payload:
                self.send(bytes(self._frames.pong(payload)))
            case Opcode.PONG, _:
                self._missed = 0
            case Opcode.CLOSE, _:
                self._end(CloseReason.NORMAL_CLOSURE, "")
            case _:
                self._refuse(Code.MALFORMED, "messages are text, in JSON",
                             CloseReason.UNSUPPORTED_DATA)  # fmt: skip

    def _take_text(self, whole: bool) -> None:
        if len(self._message) > self._most:
            text = f"a message has at most {self._most} bytes"
            if self._most < MAX_FRAME:
                text += f"; after hello {MAX_FRAME}"
            self._refuse(Code.FRAME_TOO_LARGE, text, CloseReason.MESSAGE_TOO_BIG)
        elif whole:
            message, self._message = bytes(self._message), bytearray()
            self._driver.received(self, message)

    def _refuse(self, code: Code, text: str, reason: int) -> None:
        self._driver.refused(self, code, text)
        self._end(reason, text)

    def _end(self, reason: int, text: str) -> None:
        if not self._closing:
            self.send(bytes(self._frames.close(reason, text)))
            super().close()

    def _ping(self) -> None:
        if self._missed >= MISSED_PINGS:
            self.transport.abortConnection()
            return
        if not self._paused_by:
            self._missed += 1
        self.send(_PING)
        self._next_ping = self._timer.callLater(PING_S, self._ping)


_ACCEPTED = (
    b"HTTP/1.1 101 Switching Protocols\r\n"
    b"Upgrade: websocket\r\n"
    b"Connection: Upgrade\r\n"
    b"Sec-WebSocket-Accept: %s\r\n\r\n"
)


def _key(request: Request) -> bytes:
    """What a browser wants to see again, of a request for a line. Raises Refused."""
    said = request.getHeader
    if request.method != b"GET":
        raise HttpError(http.NOT_ALLOWED, "only GET is allowed here")
    tokens = [token.strip().lower() for token in (said("Connection") or "").split(",")]
    if (said("Upgrade") or "").lower() != "websocket" or "upgrade" not in tokens:
        raise HttpError(http.BAD_REQUEST, "this is for WebSocket")
    if said("Sec-WebSocket-Version") != "13":
        request.setHeader("Sec-WebSocket-Version", "13")
        raise HttpError(_UPGRADE_REQUIRED, "version 13 of WebSocket is spoken here")
    key = (said("Sec-WebSocket-Key") or "").encode(errors="replace")
    try:
        nonce = base64.b64decode(key, validate=True)
    except binascii.Error:
        nonce = b""
    if len(nonce) != 16:
        raise HttpError(http.BAD_REQUEST, "Sec-WebSocket-Key is not 16 bytes in base64")
    return key


def _require_own_page(request: Request, local: bool) -> None:
    """The page that asks is from here, if a page asks: programs send no Origin. Raises Refused.

    Any name may be made to lead to this machine, by whoever owns it (DNS rebinding). So if the
    server is `local`, its pages are at an address in numbers, or at localhost.
    """
    origin, host = request.getHeader("Origin"), request.getHeader("Host") or ""
    if origin is None:
        return
    try:
        own = urlsplit(origin).netloc.lower() == host.lower() != ""
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        own = False
    if not own:
        raise HttpError(http.FORBIDDEN, "this page is from elsewhere")
    if local and not is_address(name) and name.rpartition(".")[2] != "localhost":
        text = f"{name} is not this machine; behind a proxy, the server is told --http-proxied"
        raise HttpError(http.FORBIDDEN, text)


def _address(request: Request) -> str | None:
    """Where a proxy says that a request comes from: the last one, as others may have said more."""
    values = request.requestHeaders.getRawHeaders("X-Forwarded-For") or [""]
    last = values[-1].rpartition(",")[2].strip()
    return last if is_address(last) else None
