"""The organizer's line to the server: frames, hello, and coming back when it is cut off."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any, Protocol, cast

from twisted.application.internet import ClientService, backoffPolicy
from twisted.internet.endpoints import HostnameEndpoint
from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Factory
from twisted.protocols.basic import Int32StringReceiver
from twisted.python.failure import Failure

from server.client.tls import TlsSettings, Verified
from server.model.codec import MAX_FRAME, decode_event, encode
from server.model.messages import PROTOCOL, Error, Event, Hello, Ping, Request, ServerPing, Welcome

_HELLO = "hello"
_NO_WELCOME = "(is it a Playout server, and is --tls needed?)"


class OrganizerListener(Protocol):
    """Who is told what happens on the line."""

    def welcomed(self) -> None:
        """The server has let one in."""

    def cut_off(self, why: str) -> None:
        """The line is broken, or could not be made; it is being mended."""

    def received(self, event: Event) -> None:
        """The server says something."""

    def refused(self, error: Error) -> None:
        """The server does not let one in."""

    def hopeless(self, reason: str) -> None:
        """There is somebody who cannot be understood."""


class _Protocol(Int32StringReceiver):
    MAX_LENGTH = 16 * 2**20
    transport: Any

    def __init__(self, line: OrganizerConnection) -> None:
        self._line = line

    def connectionMade(self) -> None:
        self._line.made(self)

    def stringReceived(self, frame: bytes) -> None:
        self._line.frame(frame)

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        self._line.lost(reason)


class _SecureProtocol(Verified, _Protocol):
    """Says nothing before it is known who is at the other end."""


class _Factory(Factory):
    noisy = False

    def __init__(self, line: OrganizerConnection, kind: type[_Protocol]) -> None:
        self._line = line
        self._kind = kind

    def buildProtocol(self, addr: IAddress | None) -> _Protocol:
        return self._kind(self._line)


class OrganizerConnection:
    """Keeps a connection, as one who takes part in nothing."""

    def __init__(
        self,
        reactor: Any,
        where: tuple[str, int],
        name: str,
        token: str,
        listener: OrganizerListener,
        security: TlsSettings | None = None,
    ) -> None:
        self._reactor = reactor
        self._hello = Hello(
            id=_HELLO,
            protocol_min=PROTOCOL,
            protocol_max=PROTOCOL,
            name=name,
            token=token,
            role="spectator",
            software=f"playout-tournament {version('playout')}",
        )
        self._listener = listener
        self._security = security
        self._protocol: _Protocol | None = None
        self._welcome = False
        #: How long a message may be, as far as the server has said so.
        self.frame_bytes = MAX_FRAME
        endpoint: Any = HostnameEndpoint(reactor, *where)
        self._service = ClientService(
            security.over(endpoint) if security else endpoint,
            cast(Any, _Factory(self, _SecureProtocol if security else _Protocol)),
            retryPolicy=backoffPolicy(initialDelay=0.1, maxDelay=2.0, factor=1.5),
            clock=reactor,
        )

    @property
    def is_open(self) -> bool:
        """Has the server let one in?"""
        return self._welcome

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
        """Say something, if the line is there."""
        if self._protocol:
            self._protocol.sendString(encode(request))  # type: ignore[no-untyped-call]

    # What the protocol tells.

    def made(self, protocol: _Protocol) -> None:
        """The connection is there."""
        self._protocol = protocol
        self.send(self._hello)

    def frame(self, frame: bytes) -> None:
        """Something came in."""
        try:
            event = decode_event(frame)
        except ValueError as error:
            self._listener.hopeless(str(error))
            return
        match event:
            case Welcome():
                self._welcome = True
                self.frame_bytes = event.frame_bytes or MAX_FRAME
                self._listener.welcomed()
            case ServerPing():
                self.send(Ping())
            case Error(re=re) if re == _HELLO or not self._welcome:
                self._listener.refused(event)
            case _:
                self._listener.received(event)

    def lost(self, reason: Failure) -> None:
        """The connection is gone, or could not be trusted."""
        trusted, welcome = self._protocol is not None, self._welcome
        self._protocol, self._welcome = None, False
        if self._service.running:
            problem = self._security.problem(reason) if self._security and not trusted else None
            if problem:
                self._listener.hopeless(problem)
                return
            why = reason.getErrorMessage()
            self._listener.cut_off(why if welcome else f"{why} {_NO_WELCOME}")
            # Not before the service knows, too, that the connection is gone.
            self._reactor.callLater(0, self._await)

    # The rest.

    def _await(self) -> None:
        if self._service.running:
            self._service.whenConnected(failAfterFailures=1).addErrback(self._failed)

    def _failed(self, failure: Failure) -> None:
        if self._service.running:
            self._listener.cut_off(failure.getErrorMessage())
            # Not within the service's own call, which is about to count this failure.
            self._reactor.callLater(0, self._await)
