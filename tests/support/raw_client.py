"""A client that shares no code with the server: its own framing, and plain maps."""

from __future__ import annotations

import itertools
import socket
import struct
from types import TracebackType
from typing import Any, Self

import msgpack

from support.protocol_validator import require_described_event, require_described_request

Message = dict[str, Any]
#: Seconds after which a test that hangs ends. On a machine with other work, the start of an
#: installed bot took over a minute.
TIMEOUT_S = 200.0

_ids = itertools.count(1)
_newcomers = itertools.count(1)


class RawClient:
    """A blocking socket; nothing waits longer than TIMEOUT_S.

    It connects from an address of this machine, or from any, and sends `first` before all else.
    """

    #: Checks each message that arrives by docs/protocol.md.
    require_described = staticmethod(require_described_event)

    def __init__(self, host: str, port: int, address: str = "", first: bytes = b"") -> None:
        source = (address, 0)
        self.socket = socket.create_connection((host, port), TIMEOUT_S, source_address=source)
        self.socket.sendall(first)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.heard: list[Message] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.socket.close()

    def send(self, payload: bytes) -> None:
        """Send a frame with any payload."""
        self.socket.sendall(struct.pack(">I", len(payload)) + payload)

    def encode(self, message: Message) -> bytes:
        """Return the bytes of a message."""
        return bytes(msgpack.packb(message))

    def receive(self) -> object:
        """Return the payload of the next frame. Raises EOFError at the end."""
        (length,) = struct.unpack(">I", self._exactly(4))
        return msgpack.unpackb(self._exactly(length))

    def say(self, kind: str, **fields: Any) -> None:
        """Send a message."""
        self.send(self.encode({"type": kind} | fields))

    def hear(self) -> Message:
        """Return the next message. Raises EOFError at the end."""
        message = self.receive()
        assert isinstance(message, dict)
        self.require_described(message)
        self.heard.append(message)
        return message

    def hear_until(self, kind: str, **fields: Any) -> Message:
        """Return the next message of a type with these fields, and skip those before it."""
        wanted = {"type": kind} | fields
        while True:
            message = self.hear()
            if wanted.items() <= message.items():
                return message

    def ask(self, kind: str, **fields: Any) -> Message:
        """Send a request, and return its answer."""
        number = next(_ids)
        self.say(kind, id=number, **fields)
        while True:
            message = self.hear()
            if message.get("re") == number:
                if message["type"] != "error":
                    require_described_request({"type": kind, "id": number} | fields)
                return message

    def hello(self, name: str | None = None, **fields: Any) -> Message:
        """Send a hello, by default of a guest with an unused name, and return the answer."""
        name = name or f"raw {next(_newcomers)}"
        sent: Message = {"protocol_min": 1, "protocol_max": 1}
        if not fields.keys() & {"token", "session"}:
            sent["guest"] = True
        return self.ask("hello", name=name, **sent | fields)

    def is_alive(self) -> bool:
        """Return whether the server answers a ping."""
        return bool(self.ask("ping")["type"] == "pong")

    def is_closed(self) -> bool:
        """Return whether the server has closed the connection without another message."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def _exactly(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = self.socket.recv(size - len(parts))
            if not part:
                raise EOFError("the server has disconnected")
            parts += part
        return bytes(parts)
