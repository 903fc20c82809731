"""A connection to a server, for players and the organizer: frames, TLS, reconnection with back-off.

A `ServerListener` decides what to send, and handles the events.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, cast

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from OpenSSL.SSL import Error as TLSError
from service_identity import VerificationError
from twisted.application.internet import ClientService, backoffPolicy
from twisted.internet import protocol as twisted_protocol
from twisted.internet.endpoints import HostnameEndpoint, wrapClientTLS
from twisted.internet.interfaces import IAddress, IHandshakeListener, IStreamClientEndpoint
from twisted.internet.protocol import Factory
from twisted.internet.ssl import (
    Certificate,
    optionsForClientTLS,
    platformTrust,
    trustRootFromCertificates,
)
from twisted.protocols.basic import Int32StringReceiver
from twisted.python.failure import Failure
from zope.interface import implementer

from playout.protocol.codec import UnknownEvent, decode_event, encode
from playout.protocol.messages import (
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

#: Seconds between two measurements of the round trip.
PING_INTERVAL_S = 10.0
_ROUND_TRIP = "round_trip"


class ServerListener(Protocol):
    """Reacts to what happens on a `ServerConnection`."""

    def connected(self) -> None:
        """A connection was made, and verified if it uses TLS. A `hello` is expected next."""

    def disconnected(self, reason: str) -> None:
        """The connection was lost after the server's `welcome`; it is being made again."""

    def received(self, event: Event) -> None:
        """The server sent an event."""

    def retrying(self, text: str) -> None:
        """The first attempt to connect failed, and more follow; `text` tells people."""

    def unreachable(self, reason: str) -> None:
        """No connection could be made in the time allowed. `close` is expected next."""

    def unusable(self, reason: str) -> None:
        """Trying again is useless; `reason` is a sentence. `close` is expected next."""


class _Protocol(Int32StringReceiver):
    MAX_LENGTH = 16 * 2**20

    transport: Any

    def __init__(self, connection: ServerConnection) -> None:
        self._connection = connection

    def connectionMade(self) -> None:
        self.transport.setTcpNoDelay(True)
        self._connection.made(self)

    def stringReceived(self, frame: bytes) -> None:
        self._connection.frame_received(frame)

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        self._connection.lost(self, reason)


class TlsSettings:
    """The name that the certificate of a server must have, and the authorities that may sign it."""

    def __init__(self, name: str, ca: Path | None = None) -> None:
        """The certificate must be for `name`, and signed by an authority in the PEM file `ca`.

        Without `ca`, the authorities are those that the system trusts. Raises OSError, and
        ValueError if the file has no certificates or the name is invalid.
        """
        self._name = name
        self._ca = ca
        trusted = platformTrust() if ca is None else trustRootFromCertificates(_certificates(ca))
        self._options = optionsForClientTLS(name, trusted)

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables by which a program that is started gets the same settings."""
        told = {"PLAYOUT_TLS": "1", "PLAYOUT_TLS_NAME": self._name}
        return told if self._ca is None else told | {"PLAYOUT_CA": str(self._ca.resolve())}

    def over(self, endpoint: IStreamClientEndpoint) -> Any:
        """Wrap an endpoint so that its connections use TLS."""
        return wrapClientTLS(self._options, endpoint)

    def problem(self, failure: Failure) -> str | None:
        """Return what to tell the user about a connection that was not verified, otherwise None."""
        if failure.check(VerificationError):
            return (
                f"The server's certificate is not for {self._name!r}. If it is the right server, "
                "give the name in its certificate: --tls-name NAME"
            )
        if not failure.check(TLSError):
            return None
        if "certificate verify failed" not in str(failure.value):
            return f"The server does not speak TLS on this port: {failure.getErrorMessage()}"
        authority = f"in {self._ca}" if self._ca else "known to this system"
        return (
            f"The server's certificate, which should be for {self._name!r}, cannot be trusted: it "
            f"is not signed by an authority {authority}, or has expired. For a private authority, "
            "give its certificate: --ca FILE"
        )


def _certificates(file: Path) -> list[Certificate]:
    return [
        Certificate.loadPEM(each.public_bytes(Encoding.PEM))
        for each in x509.load_pem_x509_certificates(file.read_bytes())
    ]


@implementer(IHandshakeListener)
class Verified(twisted_protocol.Protocol):
    """The first base class of a protocol over TLS; it begins when the certificate is verified."""

    transport: Any

    def connectionMade(self) -> None:
        """Do nothing before the handshake."""

    def handshakeCompleted(self) -> None:
        """Begin, unless the certificate was refused."""
        if not self.transport.disconnecting:
            super().connectionMade()  # type: ignore[no-untyped-call]


class _VerifiedProtocol(Verified, _Protocol):
    """A connection over TLS, which sends nothing before the server's certificate was verified."""


class _Factory(Factory):
    noisy = False

    def __init__(self, connection: ServerConnection, kind: type[_Protocol]) -> None:
        self._connection = connection
        self._kind = kind

    def buildProtocol(self, addr: IAddress | None) -> _Protocol:
        return self._kind(self._connection)


class ServerConnection:
    """Keeps one connection to a server, and makes it again when it is lost."""

    def __init__(
        self,
        reactor: Any,
        address: tuple[str, int],
        listener: ServerListener,
        patience_s: float,
        tls: TlsSettings | None = None,
        *,
        measures_round_trip: bool = False,
        repeats_requests: bool = False,
        retry_s: float | None = None,
    ) -> None:
        """`patience_s`: the longest time to wait for the server's `welcome`, with all attempts.

        The pauses between attempts grow, unless they are `retry_s`, as for a server that starts.

        With `measures_round_trip`, `round_trip_s` is the time that a message takes to the server
        and back. With `repeats_requests`, a request that was refused because it came too soon is
        sent again when the server allows it, if that is within `patience_s`; then requests that
        wait for an answer must have different ids. A repeated move that is out of date does no
        harm, because it names its ply.
        """
        self.round_trip_s = 0.0
        self._reactor = reactor
        self._address = address
        self._listener = listener
        self._patience_s = patience_s
        self._tls = tls
        self._measures_round_trip = measures_round_trip
        self._repeats_requests = repeats_requests
        self._protocol: _Protocol | None = None
        #: The time of the first attempt since the last `welcome`; None after a `welcome`.
        self._trying_since: float | None = time.monotonic()
        self._attempts = 0
        #: Whether the listener knows that the first attempt failed, or it did not fail.
        self._first_attempt_is_known = False
        self._refusal = "it sends nothing (is it a Playout server, and is --tls needed?)"
        self._unanswered: dict[RequestId, Request] = {}
        self._pinged_at = 0.0
        # Adds up to a second at random: players that lose a server do not return all at once.
        self._backoff = backoffPolicy(initialDelay=0.1, maxDelay=5.0, factor=1.5)
        self._retry_s = retry_s
        endpoint: Any = HostnameEndpoint(reactor, *address)
        self._service = ClientService(
            tls.over(endpoint) if tls else endpoint,
            cast(Any, _Factory(self, _VerifiedProtocol if tls else _Protocol)),
            retryPolicy=self._delay,
            clock=reactor,
        )

    @property
    def is_open(self) -> bool:
        """Whether the server has said `welcome` on the current connection."""
        return self._trying_since is None

    def open(self) -> None:
        """Start to connect, and keep the connection until `close`."""
        self._trying_since = time.monotonic()
        self._service.startService()
        self._await()

    def close(self) -> None:
        """Close the connection after everything was sent, and make no other."""
        # Later: the service must not be stopped within one of its own calls.
        if self._service.running:
            self._reactor.callLater(0, self._service.stopService)

    def reconnect(self) -> None:
        """Close the connection and make another, as after a refusal that may be temporary."""
        if self._protocol:
            self._protocol.transport.loseConnection()

    def send(self, request: Request) -> None:
        """Send a request if there is a connection; otherwise it is dropped."""
        if self._protocol:
            if self._repeats_requests and request.id is not None:
                self._unanswered[request.id] = request
            self._protocol.sendString(encode(request))  # type: ignore[no-untyped-call]

    # Called by the protocol.

    def made(self, protocol: _Protocol) -> None:
        """Tell the listener of a new connection, which is verified if it uses TLS."""
        self._protocol = protocol
        self._first_attempt_is_known = True
        self._unanswered.clear()
        self._listener.connected()
        if self._measures_round_trip:
            self._ping(protocol)

    def frame_received(self, frame: bytes) -> None:
        """Decode a frame, answer it or pass it on."""
        try:
            event = decode_event(frame)
        except UnknownEvent:  # from a later server
            return
        except ValueError as error:
            self._listener.unusable(str(error))
            return
        request = None if event.re is None else self._unanswered.pop(event.re, None)
        match event:
            case Pong(re=re) if re == _ROUND_TRIP:
                self.round_trip_s = time.monotonic() - self._pinged_at
            case ServerPing():
                self.send(Ping())
            case Error(code=Code.RATE_LIMITED, re=re) if re == _ROUND_TRIP:
                pass  # the next one is sent in time
            case Error(code=Code.RATE_LIMITED, seconds=float(wait_s)) if (
                request and wait_s <= self._patience_s
            ):
                self._reactor.callLater(wait_s, self._send_again, self._protocol, request)
            case _:
                self._note(event)
                self._listener.received(event)

    def lost(self, protocol: _Protocol, reason: Failure) -> None:
        """Connect again after a loss; give up after a bad certificate, or without patience."""
        was_verified = protocol is self._protocol
        self._protocol = None
        if not self._service.running:
            return
        problem = self._tls.problem(reason) if self._tls and not was_verified else None
        if problem:
            self._listener.unusable(problem)
        elif self._trying_since is None:
            self._trying_since = time.monotonic()
            self._listener.disconnected(reason.getErrorMessage())
        elif self._is_out_of_patience:
            self._listener.unusable(f"The server closes the connection: {self._refusal}")
        # Later, when the service has noticed the loss, too.
        self._reactor.callLater(0, self._await)

    @property
    def _is_out_of_patience(self) -> bool:
        since = self._trying_since
        return since is not None and time.monotonic() - since > self._patience_s

    def _delay(self, _: int) -> float:
        """Seconds until the next attempt; a connection without a `welcome` is a failed attempt."""
        self._attempts += 1
        return self._backoff(self._attempts) if self._retry_s is None else self._retry_s

    def _note(self, event: Event) -> None:
        """Note a `welcome`, or why there is none."""
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
        if self._is_out_of_patience:
            self._listener.unreachable(failure.getErrorMessage())
        else:
            self._report_first_attempt(failure)
            # Later: the service counts this failure at the end of its own call.
            self._reactor.callLater(0, self._await)

    def _report_first_attempt(self, failure: Failure) -> None:
        if not self._first_attempt_is_known:
            self._first_attempt_is_known = True
            host, port = self._address
            reason = failure.getErrorMessage().rstrip(".")
            self._listener.retrying(
                f"There is no server at {host}:{port}: {reason}. "
                f"Trying again for {self._patience_s:g} s ..."
            )

    def _ping(self, protocol: _Protocol) -> None:
        if protocol is self._protocol:
            self._pinged_at = time.monotonic()
            self.send(Ping(id=_ROUND_TRIP))
            self._reactor.callLater(PING_INTERVAL_S, self._ping, protocol)
