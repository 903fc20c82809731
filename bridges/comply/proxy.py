"""The proxy between the bot and the server, in which a referee sees and changes messages."""

from __future__ import annotations

import asyncio
from typing import Protocol

from playout.bridges.comply import frames
from playout.bridges.comply.frames import Frame, NotAFrame

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
                await frames.write(self._bot, frame, in_pieces=self.in_pieces)

    async def to_server(self, frame: Frame) -> None:
        """Send a frame to the server, unless the connection is lost."""
        if self.is_open:
            await frames.write(self._server, frame)

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
            while frame := await frames.read(reader):
                await self._listener.from_bot(frame, link)
            link.close("the bot closes the connection")
        except NotAFrame as error:
            self._listener.unreadable(str(error))
            link.close("the connection is closed by the referee")

    async def _events(self, reader: asyncio.StreamReader, link: Link) -> None:
        while frame := await frames.read(reader):
            await self._listener.from_server(frame, link)
        link.close("the server closes the connection")
