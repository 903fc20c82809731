"""Frames between a bot and the server, with unchanged bodies, and the transcript of messages."""

from __future__ import annotations

import asyncio
import contextlib
import json
import struct
import time
from collections import deque
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

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


async def read(stream: asyncio.StreamReader) -> Frame | None:
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


async def write(stream: asyncio.StreamWriter, frame: Frame, *, in_pieces: bool = False) -> None:
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
