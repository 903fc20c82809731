"""The line to the server: frames, reconnection with back-off, and how long a message takes."""

from __future__ import annotations

import time
from typing import Any, Protocol, cast

from twisted.application.internet import ClientService, backoffPolicy
from twisted.internet.endpoints import HostnameEndpoint
from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Factory
from twisted.protocols.basic import Int32StringReceiver
from twisted.python.failure import Failure

from server.client.tls import TlsSettings, Verified
from server.model.codec import decode_event, encode
from server.model.messages import (
    Code,
    Error,
    Event,
    Ping,
    Pong,
    Request,
    RequestId,
    ServerPing,
    Welcome,
)

PING_EVERY_S = 10.0
_PING = "ping"


class PlayerListener(Protocol):
    """Who is told what happens on the line."""

    def connected(self) -> None:
        """The line is there, or there again."""

    def disconnected(self) -> None:
        """The line is broken; it is being mended."""

    def received(self, event: Event) -> None:
        """The server says something."""

    def unreachable(self, reason: str) -> None:
        """The server could not be reached for longer than one is willing to wait."""

    def hopeless(self, reason: str) -> None:
        """There is somebody, and it is of no use to go on trying."""


class _Protocol(Int32StringReceiver):
    MAX_LENGTH = 16 * 2**20

    transport: Any

    def __init__(self, link: PlayerConnection) -> None:
        self._link = link

    def connectionMade(self) -> None:
        self.transport.setTcpNoDelay(True)
        self._link.made(self)

    def stringReceived(self, frame: bytes) -> None:
        self._link.frame(frame)

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        self._link.lost(self, reason)


class _SecureProtocol(Verified, _Protocol):
    """Says nothing before it is known who is at the other end."""


class _Factory(Factory):
    noisy = False

    def __init__(self, link: PlayerConnection, kind: type[_Protocol]) -> None:
        self._link = link
        self._kind = kind

    def buildProtocol(self, addr: IAddress | None) -> _Protocol:
        return self._kind(self._link)


class PlayerConnection:
    """Keeps a connection to the server."""

    def __init__(
        self,
        reactor: Any,
        where: tuple[str, int],
        listener: PlayerListener,
        patience_s: float,
        security: TlsSettings | None = None,
    ) -> None:
        """`patience_s`: how long to go on trying to get to the server's `welcome`."""
        self.round_trip_s = 0.0
        self._reactor = reactor
        self._listener = listener
        self._patience_s = patience_s
        self._security = security
        self._protocol: _Protocol | None = None
        #: Since when, if the server has not said welcome.
        self._trying_since: float | None = time.monotonic()
        self._attempts = 0
        self._refusal = "it says nothing (is it a Playout server, and is --tls needed?)"
        #: Requests that were not answered yet.
        self._asked: dict[RequestId, Request] = {}
        self._pinged_at = 0.0
        self._backoff = backoffPolicy(initialDelay=0.2, maxDelay=5.0, factor=1.5)
        endpoint: Any = HostnameEndpoint(reactor, *where)
        self._service = ClientService(
            security.over(endpoint) if security else endpoint,
            cast(Any, _Factory(self, _SecureProtocol if security else _Protocol)),
            retryPolicy=self._delay,
            clock=reactor,
        )

    def open(self) -> None:
        """Begin to connect."""
        self._service.startService()
        self._await()

    def close(self) -> None:
        """Hang up, after what was sent."""
        # Not within a call of the service's own, which does not like to be stopped there.
        if self._service.running:
            self._reactor.callLater(0, self._service.stopService)

    def try_later(self) -> None:
        """The server lets nobody in now: hang up and come back, while there is patience."""
        if self._protocol:
            self._protocol.transport.loseConnection()

    def send(self, request: Request) -> None:
        """Say something, if the line is there; what is lost is found again on reconnection.

        If the server says that a request with an `id` came too soon, it is said again when it may
        be. A move that is out of date by then does no harm: it names its ply.
        """
        if self._protocol:
            if request.id is not None:
                self._asked[request.id] = request
            self._protocol.sendString(encode(request))  # type: ignore[no-untyped-call]

    # What the protocol tells.

    def made(self, protocol: _Protocol) -> None:
        """The connection is there, and can be trusted if that was asked for."""
        self._protocol = protocol
        self._asked.clear()
        self._listener.connected()
        self._ping(protocol)

    def frame(self, frame: bytes) -> None:
        """Something came in."""
        try:
            event = decode_event(frame)
        except ValueError as error:
            self._listener.hopeless(str(error))
            return
        asked = None if event.re is None else self._asked.pop(event.re, None)
        match event:
            case Pong() if event.re == _PING:
                self.round_trip_s = time.monotonic() - self._pinged_at
            case ServerPing():
                self.send(Ping())
            case Error(code=Code.RATE_LIMITED) if event.re == _PING:
                pass  # there will be another one
            case Error(code=Code.RATE_LIMITED, seconds=float(wait_s)) if (
                asked and wait_s <= self._patience_s
            ):
                self._reactor.callLater(wait_s, self._send_again, self._protocol, asked)
            case _:
                self._note(event)
                self._listener.received(event)

    def lost(self, protocol: _Protocol, reason: Failure) -> None:
        """The connection is gone, or could not be trusted."""
        trusted = protocol is self._protocol
        self._protocol = None
        if not self._service.running:
            return
        problem = self._security.problem(reason) if self._security and not trusted else None
        if problem:
            self._listener.hopeless(problem)
        elif self._trying_since is None:
            self._trying_since = time.monotonic()
            self._listener.disconnected()
        elif self._out_of_patience:
            self._listener.hopeless(f"The server hangs up: {self._refusal}")
        # Not before the service knows, too, that the connection is gone.
        self._reactor.callLater(0, self._await)

    # The rest.

    @property
    def _out_of_patience(self) -> bool:
        since = self._trying_since
        return since is not None and time.monotonic() - since > self._patience_s

    def _delay(self, _: int) -> float:
        """Until the next attempt. A connection without a welcome is a failed one, too."""
        self._attempts += 1
        return self._backoff(self._attempts)

    def _note(self, event: Event) -> None:
        """Is one let in?"""
        if isinstance(event, Welcome):
            self._trying_since = None
            self._attempts = 0
        elif isinstance(event, Error) and self._trying_since is not None:
            self._refusal = event.text

    def _send_again(self, protocol: _Protocol | None, request: Request) -> None:
        if protocol is self._protocol:
            self.send(request)

    def _await(self) -> None:
        if self._service.running:
            self._service.whenConnected(failAfterFailures=1).addErrback(self._failed)

    def _failed(self, failure: Failure) -> None:
        if not self._service.running:
            return
        if self._out_of_patience:
            self._listener.unreachable(failure.getErrorMessage())
        else:
            # Not within the service's own call, which is about to count this failure.
            self._reactor.callLater(0, self._await)

    def _ping(self, protocol: _Protocol) -> None:
        if protocol is self._protocol:
            self._pinged_at = time.monotonic()
            self.send(Ping(id=_PING))
            self._reactor.callLater(PING_EVERY_S, self._ping, protocol)
