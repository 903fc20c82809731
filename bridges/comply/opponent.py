"""The referee's player, in the seat opposite the bot: plays at random, and ends matches."""

from __future__ import annotations

import asyncio
import contextlib
import random

from playout.bridges.comply import frames
from playout.bridges.comply.frames import Frame, Message
from playout.bridges.comply.private_server import REFEREE, PrivateServer

_RETRY_S = 0.05


class Opponent:
    """Plays a match against the bot; when the server restarts, it resumes its session."""

    def __init__(self, server: PrivateServer, seed: int) -> None:
        #: The `started` of the match, and its `ended`.
        self.started: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self.ended: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._server = server
        self._random = random.Random(seed)
        self._welcome: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._tournament: str | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._task = asyncio.create_task(self._stay_connected())

    async def seek(self, seeking: Message, clock: str, seat: int | None) -> None:
        """Answer the bot's open seek, the event `seeking`, with this clock and seat."""
        await self._welcome
        terms = {"game": seeking["game"], "rated": seeking.get("rated", False), "clock": clock}
        await self._send(terms | {"type": "seek", "seat": seat})

    async def tournament(self, game: str, clock: str, entrants: tuple[str, str]) -> None:
        """Create a tournament of one pair with an opening of two plies.

        The first entrant moves first in the first match.
        """
        await self._welcome
        await self._send({"type": "join"})
        described = [{"name": name, "version": ""} for name in entrants]
        spec: Message = {"name": "comply", "games": [game], "format": "match"}
        spec |= {"entrants": described, "clock": clock, "openings": {"plies": 2}}
        await self._send({"type": "create_tournament", "id": "tournament", "spec": spec})

    async def abort(self, match: str) -> None:
        """End a match without result, as an administrator."""
        await self._send({"type": "abort", "match": match, "text": "the referee tests this"})

    async def close(self) -> None:
        """End a running match or tournament, and disconnect."""
        if self._tournament:
            await self._send({"type": "end_tournament", "tournament": self._tournament})
        elif self.started.done() and not self.ended.done():
            await self.abort(self.started.result()["match"])
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _send(self, message: Message) -> None:
        if self._writer:
            await frames.write(self._writer, Frame.of(message))

    async def _stay_connected(self) -> None:
        while True:
            with contextlib.suppress(OSError):
                reader, self._writer = await asyncio.open_connection(*self._server.address)
                try:
                    await self._say_hello()
                    while frame := await frames.read(reader):
                        await self._received(frame.message)
                finally:
                    self._writer.close()
            await asyncio.sleep(_RETRY_S)

    async def _say_hello(self) -> None:
        hello = {"type": "hello", "protocol_min": 1, "protocol_max": 1, "name": REFEREE}
        hello |= {"token": self._server.tokens[REFEREE], "legal_actions": True}
        if self._welcome.done():
            hello["session"] = self._welcome.result()["session"]
        await self._send(hello)

    async def _received(self, message: Message) -> None:
        match message["type"]:
            case "welcome" if not self._welcome.done():
                self._welcome.set_result(message)
            case "tournament":
                self._tournament = message["tournament"]
            case "started":
                if not self.started.done():
                    self.started.set_result(message)
                await self._move(message, len(message["moves"]))
            case "update":
                await self._move(message, message["ply"] + 1)
            case "ended" if not self.ended.done():
                self.ended.set_result(message)
            case "ping":
                await self._send({"type": "ping"})

    async def _move(self, message: Message, ply: int) -> None:
        started = self.started.result()
        if message["match"] == started["match"] and message["to_move"] == started["seat"]:
            action = self._random.choice(message["legal_actions"])
            move = {"type": "move", "match": message["match"], "ply": ply, "action": action}
            await self._send(move)
