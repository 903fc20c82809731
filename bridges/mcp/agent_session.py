"""An agent's session on a Playout server: its requests, and the matches that it plays."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable

from msgspec import structs

from playout.bridges.mcp.agent_match import AgentMatch
from playout.commands.identity import HELLO, Identity, Login
from playout.protocol.connection import ServerConnection
from playout.protocol.messages import (
    Ended,
    Error,
    Event,
    Notice,
    OfferClosed,
    Offered,
    Request,
    RequestId,
    Resign,
    Started,
    TakenBack,
    Update,
    Welcome,
)

#: Longest time to wait for an answer, and for the connection.
_ANSWER_S = 30.0


class AgentError(Exception):
    """A request failed; the message tells the agent why, and what to do."""


class AgentSession:
    """Logs in, keeps the connection, and follows the matches of this session."""

    def __init__(self, identity: Identity, warn: Callable[[str], None]) -> None:
        """`warn` shows a line to the operator of the bridge."""
        #: The last `welcome`; None without a connection.
        self.welcome: Welcome | None = None
        #: The matches of this session by identifier, also ended ones.
        self.matches: dict[str, AgentMatch] = {}
        self._connection: ServerConnection
        self._identity = identity
        self._warn = warn
        self._numbers = itertools.count(1)
        self._answers: dict[RequestId, asyncio.Future[Event]] = {}
        self._changed = asyncio.Event()
        #: The reason why no connection is possible.
        self._problem: str | None = None
        #: The last notice of the server, such as that a bot could not be started.
        self.failure: str | None = None

    def open(self, connection: ServerConnection) -> None:
        """Connect; to be called first, within the event loop."""
        self._connection = connection
        call_later = asyncio.get_running_loop().call_later
        self._login = Login(
            self._identity, connection, call_later, self.unusable, legal_actions=True, views=True
        )
        connection.open()

    def close(self) -> None:
        """Resign the running matches, and disconnect."""
        for match in self.matches.values():
            if not match.is_over:
                self._connection.send(Resign(match=match.started.match))
        self._connection.close()

    async def ready(self) -> Welcome:
        """Wait for the connection, and return the server's `welcome`. Raises AgentError."""
        await self.until(lambda: bool(self.welcome or self._problem), _ANSWER_S)
        if self.welcome is None:
            raise AgentError(self._problem or "The server does not answer; try again later.")
        return self.welcome

    async def ask(self, request: Request) -> Event:
        """Send a request, and return its answer. Raises AgentError."""
        await self.ready()
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        self._connection.send(structs.replace(request, id=number))
        try:
            event: Event = await asyncio.wait_for(answer, _ANSWER_S)
        except TimeoutError as error:
            raise AgentError("The server does not answer; try again later.") from error
        finally:
            self._answers.pop(number, None)
        if isinstance(event, Error):
            raise AgentError(f"{event.text} ({event.code})")
        return event

    async def until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait until a condition holds, at most some seconds; return whether it holds."""
        give_up_at = time.monotonic() + seconds
        while not condition():
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), give_up_at - time.monotonic())
            except TimeoutError:
                return False
        return True

    # The listener of the connection.

    def connected(self) -> None:
        """Log in; ask for views, so that a board can be shown."""
        self._login.begin()

    def disconnected(self, reason: str) -> None:
        """Let pending requests fail; the connection is being made again."""
        self.welcome = None
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(AgentError("The connection was lost; call state."))
        self._changed.set()

    def retrying(self, server: str, reason: str, patience_s: float) -> None:
        """Tell the operator that the server does not answer yet."""
        self._warn(f"There is no server at {server}: {reason}. Trying for {patience_s:g} s ...")

    def unreachable(self, reason: str) -> None:
        """Tell the operator and the agent that the server cannot be reached."""
        self.unusable(f"The server cannot be reached: {reason}. Start one with: playout-server")

    def unusable(self, reason: str) -> None:
        """Note why no connection is possible."""
        self._problem, self.welcome = reason, None
        self._warn(reason)
        self._connection.close()
        self._changed.set()

    def received(self, event: Event) -> None:
        """Handle an event, and wake the tasks that wait."""
        match event:
            case Welcome():
                self._welcomed(event)
            case Error(re=re) if re == HELLO:
                self._refused(event)
            case Started(seat=int()):
                self._started(event)
            case Update() if event.match in self.matches:
                self.matches[event.match].updated(event)
            case Offered() if event.match in self.matches:
                self.matches[event.match].offered(event)
            case OfferClosed() if event.match in self.matches:
                self.matches[event.match].offer_closed(event)
            case TakenBack() if event.match in self.matches:
                self.matches[event.match].taken_back(event)
            case Ended() if event.match in self.matches:
                self.matches[event.match].ended = event
            case Notice():
                self.failure = event.text
        answer = None if event.re is None else self._answers.get(event.re)
        if answer and not answer.done():
            answer.set_result(event)
        self._changed.set()

    def _welcomed(self, welcome: Welcome) -> None:
        self.welcome = welcome
        if text := self._login.welcomed(welcome):
            self._warn(text)

    def _refused(self, error: Error) -> None:
        """Log in again under another name or session, if that may succeed."""
        if not self._login.refused(error):
            self.unusable(f"{error.text} ({error.code}). {self._identity.advice(error) or ''}")

    def _started(self, started: Started) -> None:
        """Add a match; a resumed one keeps the names of earlier moves."""
        known = self.matches.get(started.match)
        match = self.matches[started.match] = AgentMatch.of(started)
        if known:
            match.names = known.names
