"""WebSocket connections: each message of the protocol is a text message with JSON.

wsproto parses the frames. Autobahn 26.10.2, which has the rest of a server, too, takes 22 instead
of 10 µs for a message and two answers, and at import 95 ms and 7 MiB instead of 15 ms and 1 MiB.
"""

from __future__ import annotations

import base64
import binascii
import struct
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from twisted.internet.error import ConnectionAborted
from twisted.internet.protocol import Protocol
from twisted.python.failure import Failure
from twisted.web import http
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request
from wsproto.frame_protocol import CloseReason, Frame, FrameProtocol, Opcode, ParseFailed
from wsproto.utilities import generate_accept_token

from playout.protocol.codec import MAX_FRAME, MessageFormat, decode_json_request, encode_json
from playout.protocol.messages import Code, Event
from playout.server.core.rate_limits import BURST_S, TokenBucket, is_address
from playout.server.net.connection import MAX_FIRST_FRAME, OutputLimits, StreamConnection
from playout.server.runtime.scheduler import LoopScheduler
from playout.server.web.http import HttpError, error_as_text, send_response

if TYPE_CHECKING:
    from playout.server.net.driver import Driver

_UPGRADE_REQUIRED = 426

PING_S = 20.0
#: The same while the client plays a match: its opponent is told of a silence that lasts so long.
PLAYER_PING_S = 3.0
#: Seconds after an unanswered ping until the connection is aborted.
LOST_S = 40.0
#: Frames a second that may complete no message; only hostile clients send them.
FRAGMENTS_PER_S = 50.0

_TEXT = 0x81  # a complete text message
_PING = b"\x89\x00"
_SHORT, _LONG, _LONGEST = struct.Struct("!BB"), struct.Struct("!BBH"), struct.Struct("!BBQ")


def _framed(event: Event) -> bytes:
    """A frame after RFC 6455, section 5.2. Encoded once for all receivers, unlike wsproto's."""
    body = encode_json(event)
    size = len(body)
    if size < 126:
        return _SHORT.pack(_TEXT, size) + body
    if size < 2**16:
        return _LONG.pack(_TEXT, 126, size) + body
    return _LONGEST.pack(_TEXT, 127, size) + body


_FORMAT = MessageFormat(_framed, decode_json_request)


class WebSocketResource(Resource):
    """The resource at which a browser opens a WebSocket connection."""

    isLeaf = True

    def __init__(
        self,
        driver: Driver,
        scheduler: LoopScheduler,
        reactor: Any,
        *,
        output: OutputLimits,
        proxied: bool,
    ) -> None:
        """`proxied`: a proxy names the address of each client in X-Forwarded-For."""
        super().__init__()  # type: ignore[no-untyped-call]
        self._driver = driver
        self._scheduler = scheduler
        self._reactor = reactor
        self._output = output
        self._proxied = proxied

    def render(self, request: Request) -> int:
        """Open the connection, or respond with the reason of the refusal."""
        try:
            if request.postpath:
                raise HttpError(http.NOT_FOUND, "not found; this address is /socket")
            key = _key(request)
            _require_own_page(request)
        except HttpError as error:
            send_response(request, error_as_text(error))
            return NOT_DONE_YET
        address = _address(request) if self._proxied else None
        connection = WebSocketConnection(
            self._driver, self._scheduler, self._reactor, address, output=self._output
        )
        channel: Any = request.channel
        channel.switch_protocol(connection, _ACCEPTED % generate_accept_token(key))
        return NOT_DONE_YET


class WebSocketConnection(StreamConnection, Protocol):
    """The WebSocket connection of one client."""

    format = _FORMAT

    def __init__(
        self,
        driver: Driver,
        scheduler: LoopScheduler,
        reactor: Any,
        address: str | None,
        *,
        output: OutputLimits,
    ) -> None:
        """`address`: the address of the client, None for that of the transport."""
        super().__init__(driver, scheduler, output=output)
        self._reactor = reactor
        self._address = address
        self._frames = FrameProtocol(client=False, extensions=[])
        self._message = bytearray()
        self._max_bytes = MAX_FIRST_FRAME
        self._fragments = TokenBucket(FRAGMENTS_PER_S, FRAGMENTS_PER_S * BURST_S, reactor.seconds())
        #: When the first unanswered ping was sent, None if all are answered.
        self._asked_at: float | None = None
        #: Whether the driver was told that the client is silent.
        self._is_silent = False
        self._next_ping: Any = None
        #: Whether the client has closed the connection, and whether this server has ended it.
        self._left = self._ended = False

    def connectionMade(self) -> None:
        """Start the pings, and tell the driver that the connection is open."""
        self._next_ping = self._reactor.callLater(PING_S, self._ping)
        self.opened()

    def dataReceived(self, data: bytes) -> None:
        """Decode received bytes into frames."""
        self._frames.receive_bytes(data)
        self.handle_input()

    def handle_input(self) -> None:
        """Handle the frames that wait, until `must_wait`."""
        if self.must_wait():
            return
        try:
            for frame in self._frames.received_frames():
                self._take(frame)
                if self.must_wait():
                    return
        except ParseFailed as fault:
            self._refuse(Code.MALFORMED, str(fault), fault.code)

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        """Stop the pings, and tell the driver that the connection is closed.

        A page that is closed, or whose browser ends, closes its connection. After a failure of the
        network nothing arrives, and the pings end the connection.
        """
        if self._next_ping.active():
            self._next_ping.cancel()
        is_ended_here = self._ended or reason.check(ConnectionAborted)
        self.closed(left=self._left or not is_ended_here)

    def address(self) -> str | None:
        """The address of the client."""
        if not self._address:
            self._address = getattr(self.transport.getPeer(), "host", "")
        return self._address

    def set_frame_limit(self, max_bytes: int) -> None:
        """Set the size limit of messages in bytes, after a hello was accepted."""
        self._max_bytes = max_bytes
        # A page continues its match with its hello.
        if self._next_ping.active() and self._driver.is_playing(self):
            self._next_ping.reset(PLAYER_PING_S)

    def close(self, *, at_once: bool = False) -> None:
        """Close the connection after the queued output is sent; further input is ignored.

        With `at_once`, output is dropped that the system does not accept now.
        """
        self._end(CloseReason.NORMAL_CLOSURE, "", at_once=at_once)

    def _take(self, frame: Frame) -> None:
        """Handle a frame, or the received part of it."""
        whole = frame.opcode is Opcode.TEXT and frame.message_finished
        if frame.frame_finished and not whole and self._fragments.take(self._reactor.seconds()):
            self._refuse(Code.RATE_LIMITED, "too many frames that complete no message",
                         CloseReason.POLICY_VIOLATION)  # fmt: skip
            return
        match frame.opcode, frame.payload:
            case Opcode.TEXT, str() as text:
                self._message += text.encode()
                self._take_text(whole)
            case Opcode.PING, bytes() as payload:
                self.send(bytes(self._frames.pong(payload)))
            case Opcode.PONG, _:
                self._asked_at = None
                if self._is_silent:
                    self._is_silent = False
                    self._driver.silent(self, None)
            case Opcode.CLOSE, _:
                self._left = True
                self._end(CloseReason.NORMAL_CLOSURE, "")
            case _:
                self._refuse(Code.MALFORMED, "a message must be text in JSON",
                             CloseReason.UNSUPPORTED_DATA)  # fmt: skip

    def _take_text(self, whole: bool) -> None:
        if len(self._message) > self._max_bytes:
            text = f"a message has at most {self._max_bytes} bytes"
            if self._max_bytes < MAX_FRAME:
                text += f"; after hello {MAX_FRAME}"
            self._refuse(Code.FRAME_TOO_LARGE, text, CloseReason.MESSAGE_TOO_BIG)
        elif whole:
            message, self._message = bytes(self._message), bytearray()
            self._driver.received(self, message)

    def _refuse(self, code: Code, text: str, reason: int) -> None:
        self._driver.refused(self, code, text)
        self._end(reason, text)

    def _end(self, reason: int, text: str, *, at_once: bool = False) -> None:
        if not self._closing:
            self._ended = True
            self.send(bytes(self._frames.close(reason, text)))
            super().close(at_once=at_once)

    def _ping(self) -> None:
        now = self._reactor.seconds()
        if self._paused_by:  # an answer is not read
            self._asked_at = None
        elif self._asked_at is None:
            self._asked_at = now
        elif now >= self._asked_at + LOST_S:
            self.transport.abortConnection()
            return
        else:  # after a stall of this process, the answer has arrived and is read first
            self._reactor.callLater(0, self._check_silence)
        self.send(_PING)
        interval_s = PLAYER_PING_S if self._driver.is_playing(self) else PING_S
        self._next_ping = self._reactor.callLater(interval_s, self._ping)

    def _check_silence(self) -> None:
        is_read = not (self._paused_by or self._closing)
        if is_read and self._asked_at is not None and not self._is_silent:
            self._is_silent = True
            self._driver.silent(self, self._asked_at + LOST_S - self._reactor.seconds())


_ACCEPTED = (
    b"HTTP/1.1 101 Switching Protocols\r\n"
    b"Upgrade: websocket\r\n"
    b"Connection: Upgrade\r\n"
    b"Sec-WebSocket-Accept: %s\r\n\r\n"
)


def _key(request: Request) -> bytes:
    """The Sec-WebSocket-Key of an upgrade request. Raises HttpError for other requests."""
    header = request.getHeader
    if request.method != b"GET":
        raise HttpError(http.NOT_ALLOWED, "only GET is allowed here")
    tokens = [token.strip().lower() for token in (header("Connection") or "").split(",")]
    if (header("Upgrade") or "").lower() != "websocket" or "upgrade" not in tokens:
        raise HttpError(http.BAD_REQUEST, "this address is for WebSocket connections")
    if header("Sec-WebSocket-Version") != "13":
        request.setHeader("Sec-WebSocket-Version", "13")
        raise HttpError(_UPGRADE_REQUIRED, "only version 13 of WebSocket is supported")
    key = (header("Sec-WebSocket-Key") or "").encode(errors="replace")
    try:
        nonce = base64.b64decode(key, validate=True)
    except binascii.Error:
        nonce = b""
    if len(nonce) != 16:
        raise HttpError(http.BAD_REQUEST, "Sec-WebSocket-Key must be 16 bytes in base64")
    return key


def _require_own_page(request: Request) -> None:
    """Check that the request comes from a page of this server, or from a program without Origin.

    Raises HttpError.
    """
    origin, host = request.getHeader("Origin"), request.getHeader("Host") or ""
    if origin is None:
        return
    try:
        own = urlsplit(origin).netloc.lower() == host.lower() != ""
    except ValueError:
        own = False
    if not own:
        raise HttpError(http.FORBIDDEN, "this page is from another site")


def _address(request: Request) -> str | None:
    """The client's address from a proxy: the last one, as the client may have forged the others."""
    last = (request.getHeader("X-Forwarded-For") or "").rpartition(",")[2].strip()
    return last if is_address(last) else None
