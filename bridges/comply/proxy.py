"""The proxy between the bot and the server, in which a referee sees and changes messages.

It passes on frames with unchanged bodies, and keeps a transcript of the messages.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import struct
import time
from collections import deque
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import msgpack

Message = dict[str, Any]
_LENGTH = struct.Struct(">I")
#: The longest body that is read; no message in a match is longer.
_LONGEST = 16 * 2**20
#: The longest message in a transcript, in characters.
_SHOWN = 400
#: The last lines of a transcript that are kept: a bot may send messages without end.
_LINES = 10_000
#: Seconds between two parts of a frame, so that a bot reads the first one alone.
_PIECE_S = 0.02


class NotAFrame(Exception):
    """The bytes are no frame; the message tells the author of the bot why."""


@dataclass(frozen=True)
class Frame:
    """The body of a frame, as it was sent."""

    body: bytes

    @classmethod
    def of(cls, message: Message) -> Frame:
        """Return the frame of a message."""
        return cls(msgpack.packb(message))

    @cached_property
    def message(self) -> Message:
        """The map in the body; an empty map for another body."""
        with contextlib.suppress(ValueError, msgpack.UnpackException, RecursionError):
            message = msgpack.unpackb(self.body)
            if isinstance(message, dict):
                return message
        return {}

    @property
    def type(self) -> object:
        """The `type` of the message, or None."""
        return self.message.get("type")

    def __str__(self) -> str:
        """Return the message as JSON, cut after some hundred characters."""
        text = json.dumps(self.message, default=repr) if self.message else repr(self.body)
        return text if len(text) <= _SHOWN else text[:_SHOWN] + " ..."


async def read_frame(stream: asyncio.StreamReader) -> Frame | None:
    """Return the next frame, or None when the connection has ended. Raises NotAFrame."""
    try:
        head = await stream.readexactly(_LENGTH.size)
        (length,) = _LENGTH.unpack(head)
        if length > _LONGEST:
            raise NotAFrame(
                f"the bytes {head!r} are no length: expected 4 bytes, big-endian, before each body"
            )
        return Frame(await stream.readexactly(length))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


async def write_frame(
    stream: asyncio.StreamWriter, frame: Frame, *, in_pieces: bool = False
) -> None:
    """Write a frame; with `in_pieces`, its length and its body arrive in three parts."""
    data = _LENGTH.pack(len(frame.body)) + frame.body
    ends = (2, _LENGTH.size + len(frame.body) // 2) if in_pieces else ()
    with contextlib.suppress(ConnectionError):
        for begin, end in zip((0, *ends), (*ends, len(data)), strict=True):
            stream.write(data[begin:end])
            await stream.drain()
            if end < len(data):
                await asyncio.sleep(_PIECE_S)


@dataclass
class Transcript:
    """The messages of a situation, and remarks of the referee, with seconds since the start.

    `C` is the client, that is the bot, `S` the server, and `--` a remark of the referee.
    """

    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_LINES))
    _began: float = field(default_factory=time.monotonic)

    def client(self, frame: Frame) -> None:
        """Add a message of the bot."""
        self._add(f"C: {frame}")

    def server(self, frame: Frame) -> None:
        """Add a message that the bot was sent."""
        self._add(f"S: {frame}")

    def remark(self, text: str) -> None:
        """Add an action or an observation of the referee."""
        self._add(f"-- {text}")

    def _add(self, text: str) -> None:
        self.lines.append(f"{time.monotonic() - self._began:7.3f} {text}")


HOST = "127.0.0.1"


class ProxyListener(Protocol):
    """Handles the events on the connections of the bot, and decides which frames are passed on."""

    async def from_bot(self, frame: Frame, link: Link) -> None:
        """The bot sent a frame, which is passed on only by `link.to_server`."""

    async def from_server(self, frame: Frame, link: Link) -> None:
        """The server sent a frame, which is passed on only by `link.to_bot`."""

    def sent(self, frame: Frame) -> None:
        """The bot was sent a frame."""

    def noted(self, text: str) -> None:
        """Another event on a connection, as text."""

    def unreadable(self, reason: str) -> None:
        """The bot sent bytes that are no frame, for this reason."""


class Link:
    """A connection of the bot, and the proxy's own to the server."""

    def __init__(
        self, bot: asyncio.StreamWriter, server: asyncio.StreamWriter, listener: ProxyListener
    ) -> None:
        self.is_open = True
        #: Whether frames reach the bot in several parts.
        self.in_pieces = False
        self._bot, self._server = bot, server
        self._listener = listener
        self._writing = asyncio.Lock()

    async def to_bot(self, frame: Frame) -> None:
        """Send a frame to the bot, unless the connection is lost."""
        async with self._writing:  # a frame in parts takes some time
            if self.is_open:
                self._listener.sent(frame)
                await write_frame(self._bot, frame, in_pieces=self.in_pieces)

    async def to_server(self, frame: Frame) -> None:
        """Send a frame to the server, unless the connection is lost."""
        if self.is_open:
            await write_frame(self._server, frame)

    def close(self, reason: str) -> None:
        """Close both connections, and note the reason if they were open."""
        if self.is_open:
            self._listener.noted(reason)
        self.is_open = False
        self._bot.close()
        self._server.close()


class Proxy:
    """Listens for the bot, and connects each of its connections to the server."""

    def __init__(self, server: tuple[str, int], listener: ProxyListener) -> None:
        self._address = server
        self._listener = listener
        self._tasks: set[asyncio.Task[None]] = set()
        self._port: asyncio.Server | None = None

    async def open(self) -> int:
        """Listen on a free port of this machine, and return it."""
        self._port = await asyncio.start_server(self._connected, HOST, 0)
        return int(self._port.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Stop listening, and close all connections."""
        if self._port:
            self._port.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._carry(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on the frames of a connection in both directions until either side closes it."""
        try:
            answers, server = await asyncio.open_connection(*self._address)
        except OSError:
            self._listener.noted("the bot connects while the server is stopped")
            writer.close()
            return
        self._listener.noted("the bot connects")
        link = Link(writer, server, self._listener)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._requests(reader, link))
                group.create_task(self._events(answers, link))
        finally:
            link.close("the connection is closed by the referee")

    async def _requests(self, reader: asyncio.StreamReader, link: Link) -> None:
        try:
            while frame := await read_frame(reader):
                await self._listener.from_bot(frame, link)
            link.close("the bot closes the connection")
        except NotAFrame as error:
            self._listener.unreadable(str(error))
            link.close("the connection is closed by the referee")

    async def _events(self, reader: asyncio.StreamReader, link: Link) -> None:
        while frame := await read_frame(reader):
            await self._listener.from_server(frame, link)
        link.close("the server closes the connection")
