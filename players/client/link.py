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

from server.messages import Event, Ping, Pong, Request
from server.wire import decode_event, encode

PING_EVERY_S = 10.0
_PING = "ping"


class Listener(Protocol):
    """Who is told what happens on the line."""

    def connected(self) -> None:
        """The line is there, or there again."""

    def disconnected(self) -> None:
        """The line is broken; it is being mended."""

    def received(self, event: Event) -> None:
        """The server says something."""

    def unreachable(self, reason: str) -> None:
        """The server could not be reached for longer than one is willing to wait."""

    def confused(self, reason: str) -> None:
        """The server says something that makes no sense here."""


class _Protocol(Int32StringReceiver):
    MAX_LENGTH = 16 * 2**20

    transport: Any

    def __init__(self, link: Link) -> None:
        self._link = link

    def connectionMade(self) -> None:
        self.transport.setTcpNoDelay(True)

    def stringReceived(self, frame: bytes) -> None:
        self._link.frame(frame)

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        self._link.lost()


class _Factory(Factory):
    noisy = False

    def __init__(self, link: Link) -> None:
        self._link = link

    def buildProtocol(self, addr: IAddress | None) -> _Protocol:
        return _Protocol(self._link)


class Link:
    """Keeps a connection to the server."""

    def __init__(
        self, reactor: Any, host: str, port: int, listener: Listener, patience_s: float
    ) -> None:
        """`patience_s`: how long to go on trying to reach the server."""
        self.round_trip_s = 0.0
        self._reactor = reactor
        self._listener = listener
        self._patience_s = patience_s
        self._protocol: _Protocol | None = None
        self._trying_since = time.monotonic()
        self._pinged_at = 0.0
        self._service = ClientService(
            cast(Any, HostnameEndpoint(reactor, host, port)),
            cast(Any, _Factory(self)),
            retryPolicy=backoffPolicy(initialDelay=0.2, maxDelay=5.0, factor=1.5),
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

    def send(self, request: Request) -> None:
        """Say something, if the line is there; what is lost is found again on reconnection."""
        if self._protocol:
            self._protocol.sendString(encode(request))  # type: ignore[no-untyped-call]

    def frame(self, frame: bytes) -> None:
        """Something came in."""
        try:
            event = decode_event(frame)
        except ValueError as error:
            self._listener.confused(str(error))
            return
        if isinstance(event, Pong) and event.re == _PING:
            self.round_trip_s = time.monotonic() - self._pinged_at
            return
        self._listener.received(event)

    def lost(self) -> None:
        """The connection is gone."""
        if self._protocol and self._service.running:
            self._protocol = None
            self._trying_since = time.monotonic()
            self._listener.disconnected()
            # Not before the service knows, too, that the connection is gone.
            self._reactor.callLater(0, self._await)

    def _await(self) -> None:
        if not self._service.running:
            return
        self._service.whenConnected(failAfterFailures=1).addCallbacks(self._made, self._failed)

    def _made(self, protocol: _Protocol) -> None:
        self._protocol = protocol
        self._listener.connected()
        self._ping(protocol)

    def _failed(self, failure: Failure) -> None:
        if not self._service.running:
            return
        if time.monotonic() - self._trying_since <= self._patience_s:
            # Not within the service's own call, which is about to count this failure.
            self._reactor.callLater(0, self._await)
        else:
            self._listener.unreachable(failure.getErrorMessage())

    def _ping(self, protocol: _Protocol) -> None:
        if protocol is self._protocol:
            self._pinged_at = time.monotonic()
            self.send(Ping(id=_PING))
            self._reactor.callLater(PING_EVERY_S, self._ping, protocol)
