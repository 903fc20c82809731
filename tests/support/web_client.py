"""A WebSocket client: the framing of wsproto, and a handshake of its own."""

from __future__ import annotations

import json
import socket
from collections import deque
from http.client import HTTPResponse
from typing import Any

from wsproto.frame_protocol import CloseReason, Frame, FrameProtocol, Opcode

from support.raw_client import Message, RawClient

KEY = "dGhlIHNhbXBsZSBub25jZQ=="  # with its answer, from RFC 6455, section 1.3
ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="


class WebClient(RawClient):
    """A blocking socket that was switched to WebSocket."""

    def __init__(self, page: tuple[str, int], **headers: str) -> None:
        super().__init__(*page)
        response = upgrade(self.socket, page, **headers)
        assert (response.status, response.getheader("Sec-WebSocket-Accept")) == (101, ACCEPT)
        self.frames = FrameProtocol(client=True, extensions=[])
        self._received: deque[Frame] = deque()

    def encode(self, message: Message) -> bytes:
        return json.dumps(message).encode()

    def send(self, payload: bytes) -> None:
        """Send a text message with any content."""
        self.socket.sendall(self.frame(payload))

    def frame(self, payload: bytes, opcode: int = Opcode.TEXT, *, final: bool = True) -> bytes:
        """Send a frame. Its mask is 0, which does not change the payload."""
        size = len(payload)
        short, length = (size, b"") if size < 126 else (126, size.to_bytes(8, "big")[-2:])
        if size >= 2**16:
            short, length = 127, size.to_bytes(8, "big")
        return bytes([0x80 * final | opcode, 0x80 | short]) + length + bytes(4) + payload

    def receive(self) -> object:
        return json.loads(self.text())

    def text(self) -> str:
        """Return the next message as text. Raises EOFError at the end."""
        text = ""
        while True:
            frame = self.next_frame()
            if frame.opcode is Opcode.CLOSE:
                raise EOFError(f"the server has closed with {frame.payload}")
            if frame.opcode is Opcode.TEXT:
                assert isinstance(frame.payload, str)
                text += frame.payload
                if frame.message_finished:
                    return text

    def next_frame(self) -> Frame:
        """Return the next frame of any kind."""
        while not self._received:
            data = self.socket.recv(65536)
            if not data:
                raise EOFError("the server has hung up")
            self.frames.receive_bytes(data)
            self._received.extend(self.frames.received_frames())
        return self._received.popleft()

    def close_code(self) -> int:
        """Return the code with which the server closes, and skip messages before it."""
        while True:
            frame = self.next_frame()
            if frame.opcode is Opcode.CLOSE:
                assert isinstance(frame.payload, tuple)
                return int(CloseReason(frame.payload[0]))


def upgrade(line: socket.socket, page: tuple[str, int], **headers: str) -> HTTPResponse:
    """Request WebSocket, and return the answer; a header that is "" is left out."""
    headers = {
        "Host": f"{page[0]}:{page[1]}",
        "Upgrade": "websocket",
        "Connection": "keep-alive, Upgrade",
        "Sec-WebSocket-Key": KEY,
        "Sec-WebSocket-Version": "13",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    lines = [f"{name}: {value}" for name, value in headers.items() if value]
    line.sendall("\r\n".join(["GET /socket HTTP/1.1", *lines, "", ""]).encode())
    response = HTTPResponse(_Unbuffered(line))
    response.begin()
    return response


class _Unbuffered:
    """Reads only the requested bytes: the data after the head are not HTTP."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line

    def makefile(self, mode: str) -> Any:
        return self._line.makefile(mode, buffering=0)
