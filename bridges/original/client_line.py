"""The connection to a client of the original system: lines of JSON, ended by CR LF."""

from __future__ import annotations

from typing import Any, Protocol

from twisted.internet.protocol import connectionDone
from twisted.protocols.basic import LineOnlyReceiver
from twisted.python.failure import Failure

from players.engines.original_messages import message

#: Bytes of a line, at most: an action with the statistics of a search has some thousands.
MAX_LINE = 64 * 1024
#: Seconds in which a client has to read the last message and hang up.
PATIENCE_S = 5.0


class ClientListener(Protocol):
    """Reacts to what a client does."""

    def begin(self) -> None:
        """The connection has been made."""

    def line(self, line: bytes) -> None:
        """The client sent a line."""

    def fault(self, text: str) -> None:
        """The client broke the protocol; `text` says how."""

    def hung_up(self) -> None:
        """The connection is closed, by either side."""


class ClientLine(LineOnlyReceiver):
    """Sends messages to a client, and passes its lines on until `end`.

    The original client computes for ever if the connection is closed before it was sent a result or
    a refusal: `end` and `decline` close it.
    """

    delimiter = b"\n"
    MAX_LENGTH = MAX_LINE

    transport: Any
    listener: ClientListener | None = None
    #: Why the client is declined at once, instead of having a listener.
    refusal = ""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._ended = False
        self._deadline: Any = None

    def send(self, kind: str, **fields: object) -> None:
        """Send a message, unless the connection was ended."""
        if not self._ended:
            self.transport.write(message(kind, **fields).encode() + b"\r\n")

    def decline(self, text: str) -> None:
        """Tell the client to leave, and close the connection."""
        self.send("decline", message=text)
        self.end()

    def end(self) -> None:
        """Close the connection after everything was sent; cut it if the client does not read."""
        if not self._ended:
            self._ended = True
            self._deadline = self._reactor.callLater(PATIENCE_S, self.transport.abortConnection)
            self.transport.loseConnection()

    def connectionMade(self) -> None:
        self.transport.setTcpNoDelay(True)
        if self.listener:
            self.listener.begin()
        else:
            self.decline(self.refusal)

    def lineReceived(self, line: bytes) -> None:
        if self.listener and not self._ended:
            self.listener.line(line.rstrip(b"\r"))

    def lineLengthExceeded(self, line: bytes) -> None:
        if self.listener and not self._ended:
            self.listener.fault(f"a line has at most {MAX_LINE} bytes")

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._ended = True
        if self._deadline and self._deadline.active():
            self._deadline.cancel()
        if self.listener:
            self.listener.hung_up()
