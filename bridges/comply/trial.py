"""Runs one situation: starts the bot, plays a match against it, and decides whether it passes.

The referee has the seat opposite the bot.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from playout.bridges.comply.processes import BOT, REFEREE, BotCommand, PrivateServer
from playout.bridges.comply.proxy import (
    HOST,
    Frame,
    Link,
    Message,
    Proxy,
    Transcript,
    read_frame,
    write_frame,
)
from playout.bridges.comply.situations import Situation
from playout.commands.child import Child, stop

_RETRY_S = 0.05


class Opponent:
    """Plays a match against the bot at random, or ends it.

    When the server restarts, it resumes its session.
    """

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
            await write_frame(self._writer, Frame.of(message))

    async def _stay_connected(self) -> None:
        while True:
            with contextlib.suppress(OSError):
                reader, self._writer = await asyncio.open_connection(*self._server.address)
                try:
                    await self._say_hello()
                    while frame := await read_frame(reader):
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
                await self._move(message, message["ply"] + 1 + len(message.get("rolls", ())))
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


T = TypeVar("T")

_POLL_INTERVAL_S = 0.05
#: Seconds that a bot has to end after SIGTERM.
_STOP_S = 2.0
#: The lines at the end of its output that are shown.
_TAIL_LINES = 8
#: The longest duration of a situation, as a multiple of the longest silence of a bot.
_LONGEST = 20
#: Maximum number of errors of the bot that are kept for each situation.
_ERRORS = 20


@dataclass(frozen=True)
class ComplyTerms:
    """The terms of a test: command, game, and the longest silence of a bot, `patience_s`."""

    command: BotCommand
    game: str
    patience_s: float
    tournament: bool
    seed: int


@dataclass
class Finding:
    """The result of a situation: `problem` is None if the bot has passed.

    `own_errors` are errors of the server that the bot itself caused.
    """

    situation: str
    duty: str
    problem: str | None = None
    own_errors: list[str] = field(default_factory=list)
    transcript: list[str] = field(default_factory=list)
    output: list[str] = field(default_factory=list)


class NotPassed(Exception):
    """The bot has failed in a situation; the message says how."""


class SituationTrial:
    """Runs one situation. It is the proxy's listener, and the interference's arbiter."""

    def __init__(
        self, terms: ComplyTerms, situation: Situation, server: PrivateServer, number: int
    ) -> None:
        """`number` distinguishes the processes of the bot."""
        loop = asyncio.get_running_loop()
        self._terms, self._situation, self._server = terms, situation, server
        self._name = f"{BOT}-{number}"
        self._transcript = Transcript()
        self._interference = situation.interference(self)
        self._finding = Finding(situation.name, situation.duty)
        self._link: Link | None = None
        #: The seek with which the bot waits for an opponent, or the `ok` after its `join`.
        self._waiting: asyncio.Future[Message] = loop.create_future()
        #: The event `ended` that was sent to the bot.
        self._told: asyncio.Future[Message] = loop.create_future()
        self._unreadable: asyncio.Future[str] = loop.create_future()
        self._messages = 0
        self._began_at = self._heard_at = time.monotonic()
        self._joins = False
        self._restart: asyncio.Task[None] | None = None
        self._opponent = Opponent(server, terms.seed)

    async def run(self, folder: Path) -> Finding:
        """Run the situation; the output of the bot goes to a file in the folder."""
        proxy = Proxy(self._server.address, self)
        bot = None
        try:
            bot = self._start_bot(await proxy.open(), folder)
            await self._play(bot)
        except NotPassed as error:
            self._finding.problem = str(error)
        finally:
            if bot:
                await asyncio.to_thread(stop, [bot], _STOP_S)
                self._finding.output = bot.tail(_TAIL_LINES)
            await self._opponent.close()
            await proxy.close()
            if self._restart:  # the next situation needs the server
                await self._restart
        self._finding.transcript = list(self._transcript.lines)
        return self._finding

    def _start_bot(self, port: int, folder: Path) -> Child:
        values = {"host": HOST, "port": str(port), "game": self._terms.game, "name": self._name}
        environment = {
            "PLAYOUT_HOST": HOST,
            "PLAYOUT_PORT": str(port),
            "PLAYOUT_NAME": BOT,
        }
        if self._terms.tournament:
            environment["PLAYOUT_TOURNAMENT"] = "any"
        token, log = self._server.tokens[BOT], folder / f"{self._name}.log"
        return self._terms.command.start(values, environment, token, log)

    # The course of a situation.

    async def _play(self, bot: Child) -> None:
        """Play the match. Raises NotPassed."""
        waiting = await self._unless_it_fails(self._waiting, bot, "before it asked for a match")
        assert waiting is not None
        assert self._link
        before = self._interference.before_match(self._link)
        await self._unless_it_fails(before, bot, "while it waited for an opponent")
        await self._pair(waiting)
        await self._unless_it_fails(self._opponent.ended, bot, "before the match was over")
        ended = self._told.result() if self._told.done() else self._opponent.ended.result()
        self._judge_end(ended)
        await self._unless_it_fails(self._told, bot, "before it heard that the match was over")
        if not self._interference.done:
            raise NotPassed("the match was over before this could be tested: take a longer game")
        await self._see_afterwards(bot)

    async def _pair(self, waiting: Message) -> None:
        """Start the match with the clock and the seats of the situation. Raises NotPassed."""
        clock, seat = self._situation.clock, self._situation.seat
        if waiting["type"] == "ok":
            entrants = (BOT, REFEREE) if seat == 1 else (REFEREE, BOT)
            await self._opponent.tournament(self._terms.game, clock, entrants)
            return
        if waiting.get("clock") not in (None, clock):
            raise NotPassed(f"its seek names the clock {waiting['clock']}: leave clock out")
        if waiting.get("seat") not in (None, seat):
            raise NotPassed(f"its seek asks for seat {waiting['seat']}: leave seat out")
        if waiting.get("opponent") not in (None, REFEREE):
            raise NotPassed(f"its seek is for {waiting['opponent']} only: leave opponent out")
        await self._opponent.seek(waiting, clock, 3 - seat)

    def _judge_end(self, ended: Message) -> None:
        """Raise NotPassed if the match ended for another reason than expected."""
        expected = self._situation.end(tournament=self._terms.tournament)
        if ended["reason"] != expected:
            raise NotPassed(
                f'the match ended with the reason {ended["reason"]} ("{ended["text"]}"), '
                f"not {expected}"
            )

    async def _see_afterwards(self, bot: Child) -> None:
        """Check that the bot ends with exit code 0 or answers a ping. Raises NotPassed."""
        messages = self._messages
        if self._link:
            await self._link.to_bot(Frame.of({"type": "ping", "seconds": 60.0}))
        while self._messages == messages:
            code = bot.code  # read once: the program may end at any time
            if code == 0:
                return
            if code is not None:
                raise NotPassed(f"after the match the program {bot.how_it_ended()}")
            if self._hangs():
                raise NotPassed("after the match it neither ends nor answers the server's ping")
            await asyncio.sleep(_POLL_INTERVAL_S)

    async def _unless_it_fails(self, event: Awaitable[T], bot: Child, when: str) -> T | None:
        """Wait for an event, and return its value; None if the bot was sent the end of the match.

        Raises NotPassed if the program ends, or is silent for too long, or sends no frames.
        """
        waited = asyncio.ensure_future(event)
        exited = asyncio.create_task(bot.exited())
        silent = asyncio.create_task(self._silence())
        try:
            futures: set[asyncio.Future[Any]] = {waited, exited, silent, self._unreadable}
            await asyncio.wait(futures, return_when=asyncio.FIRST_COMPLETED)
            if waited.done():
                return waited.result()
            if self._unreadable.done():
                raise NotPassed(self._unreadable.result())
            if self._told.done():
                return None
            if exited.done():
                raise NotPassed(f"{when} the program {bot.how_it_ended()}")
            raise NotPassed(f"{when} {self._how_it_hung()}")
        finally:
            for each in (waited, exited, silent):
                if isinstance(each, asyncio.Task):
                    each.cancel()

    async def _silence(self) -> None:
        """Wait until the bot is silent for too long, or the situation takes too long."""
        while not self._hangs():
            await asyncio.sleep(_POLL_INTERVAL_S)

    def _hangs(self) -> bool:
        now, patience_s = time.monotonic(), self._terms.patience_s
        return now - self._heard_at > patience_s or now - self._began_at > _LONGEST * patience_s

    def _how_it_hung(self) -> str:
        if time.monotonic() - self._heard_at > self._terms.patience_s:
            return f"it was silent for {self._terms.patience_s:g} s"
        return f"{_LONGEST * self._terms.patience_s:g} s had passed"

    # The proxy's listener.

    async def from_bot(self, frame: Frame, link: Link) -> None:
        """Note a message of the bot, and pass it to the interference."""
        self._transcript.client(frame)
        self._heard_at = time.monotonic()
        self._messages += 1
        self._link = link
        if frame.type == "join":
            self._joins = True
        await self._interference.from_bot(frame, link)

    async def from_server(self, frame: Frame, link: Link) -> None:
        """Pass a message of the server to the interference."""
        await self._interference.from_server(frame, link)

    def sent(self, frame: Frame) -> None:
        """Note a message that was sent to the bot."""
        self._transcript.server(frame)
        message = frame.message
        match message.get("type"):
            case "seeking" if not self._waiting.done():
                self._waiting.set_result(message)
            case "ok" if self._joins and not self._waiting.done():
                self._waiting.set_result(message)
            case "ended" if not self._told.done():
                self._told.set_result(message)
            case "error" if not self._is_caused(message["code"]):
                self._finding.own_errors.append(f"{message['text']} ({message['code']})")
                del self._finding.own_errors[_ERRORS:]

    def _is_caused(self, code: str) -> bool:
        return self._interference.cuts or code in self._interference.causes

    def noted(self, text: str) -> None:
        """Add a remark to the transcript."""
        self._transcript.remark(text)

    def unreadable(self, reason: str) -> None:
        """Note that the bot sends no frames."""
        if not self._unreadable.done():
            self._unreadable.set_result(reason)

    # The arbiter of the interference.

    async def restart_server(self) -> None:
        """Restart the server; the bot may be silent meanwhile."""
        self.noted("the server is stopped")
        self._restart = asyncio.create_task(self._server.restart())
        await asyncio.shield(self._restart)
        self.noted("the server is back")
        self._heard_at = time.monotonic()

    async def abort_match(self) -> None:
        """End the match as an administrator."""
        await self._opponent.abort(self._opponent.started.result()["match"])

    async def next_message(self) -> None:
        """Wait for the next message of the bot."""
        messages = self._messages
        while self._messages == messages:
            await asyncio.sleep(_POLL_INTERVAL_S)
