"""The HTTP server of the pages and of the competitions: headers, `Host`, limits of connections.

A `LimitedSite` accepts connections (`HttpChannel`) within the limits of its pools, and passes
requests (`ServerRequest`) to its resource, usually a `HandlerResource`.
"""

from __future__ import annotations

import io
import re
import socket as sockets
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, AnyStr

from twisted.internet import tcp
from twisted.internet.interfaces import IAddress
from twisted.python.failure import Failure
from twisted.web import http
from twisted.web.http_headers import Headers
from twisted.web.resource import Resource
from twisted.web.server import Request, Site

from playout.protocol.endpoints import is_loopback
from playout.server.core.rate_limits import is_address, network
from playout.server.runtime.reactor import queued_bytes
from playout.server.web.http import HttpError, error_as_text, send_response

#: Seconds in which a request must arrive completely, and the next one on the same connection; and
#: in which a peer must read some of the output that waits for it.
REQUEST_S = 4.0
MAX_HEADERS_BYTES = 8192
#: Maximum number of HTTP connections, unless the limit on open files allows fewer; those upgraded
#: to WebSocket are limited by the hub instead.
MAX_CONNECTIONS = 250
#: An address has at most one in this number of them.
ADDRESS_SHARE = 5
#: Of these connections, those for health and metrics only.
RESERVE = 8
#: The status of a request that is meant for another server (RFC 9110, section 15.5.20).
_MISDIRECTED = 421
#: A Host header: an IPv6 address in brackets or another name, and perhaps a port.
_HOST = re.compile(r"(?:\[(?P<address>[^]]+)\]|(?P<name>[^]\[@:/?#\s\\]+))(?::[0-9]*)?")

#: The response to a body in chunks: the parser takes 28 ms for 64 kB of one byte each, and the
#: others wait.
_REFUSAL = b"expected a body with its length (Content-Length), not one in chunks\n"
_LENGTH_REQUIRED = (
    b"HTTP/1.1 411 Length Required\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    b"X-Content-Type-Options: nosniff\r\nContent-Length: %d\r\n\r\n%s"
) % (len(_REFUSAL), _REFUSAL)

# Headers of all responses.

_POLICY = "Content-Security-Policy"


def content_policy(sites: Iterable[str] = (), *, inline_styles: bool = False) -> dict[str, str]:
    """The header by which a browser shows a page in frames of these sites only.

    The page loads nothing from other sites, and runs no script within it; a style within it counts
    with `inline_styles` only.
    """
    rules = (
        "default-src 'none'",
        "script-src 'self'",
        "style-src " + ("'unsafe-inline'" if inline_styles else "'self'"),
        "img-src 'self' data:",
        "manifest-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors " + (" ".join(sites) or "'none'"),
    )
    return {_POLICY: "; ".join(rules)}


#: A response may have another policy.
_ALWAYS = {
    **content_policy(),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True)
class Access:
    """Who may read which responses.

    `local`: only this machine can connect. `proxied`: a proxy checks the name of the host and
    passes on the addresses of clients. `names`: further names of this server. With a
    `metrics_password`, programs on other machines may read the metrics of the server.
    """

    local: bool = True
    proxied: bool = False
    names: tuple[str, ...] = ()
    metrics_password: str | None = None

    @classmethod
    def at(
        cls,
        host: str,
        *,
        proxied: bool,
        names: tuple[str, ...],
        metrics_password: str | None = None,
    ) -> Access:
        """Return the access to a server that listens at `host`."""
        return cls(is_loopback(host) and not proxied, proxied, names, metrics_password)

    def require_own_name(self, header: str) -> None:
        """Check the Host header of a request. Raises HttpError.

        The owner of any name can make it resolve to this machine (DNS rebinding), so that a page of
        another site seems to be one of this server.
        """
        found = _HOST.fullmatch(header)
        name = (found["address"] or found["name"]).lower() if found else ""
        if self.proxied or is_address(name) or name.rpartition(".")[2] == "localhost":
            return
        if name in self.names or (not self.local and name in _own_names()):
            return
        text = f"this server is not known as {name!r}; its operator can add --http-name {name}"
        raise HttpError(_MISDIRECTED, text)


#: Without further names.
LOCAL = Access()


def _own_names() -> tuple[str, str]:
    name = sockets.gethostname().lower()
    return name, f"{name}.local"


# Connections.


class HttpConnections:
    """The open connections that share a limit, and those of them that wait for a request."""

    def __init__(self, most: int, of_address: int, *, reserved: bool = False) -> None:
        """Limits: `most` in all, and `of_address` for each address, 0 for no limit."""
        self.reserved = reserved
        self._most = most
        self._most_of_address = of_address
        #: The network of each.
        self._open: dict[HttpChannel, str] = {}
        self._by_network: Counter[str] = Counter()
        #: Those that wait for a request, or for the rest of one, the longest wait first.
        self._waiting: dict[HttpChannel, None] = {}

    def make_room(self, address: str) -> bool:
        """Close the connection that has waited longest, if needed; False if none waits."""
        name = network(address)
        if 0 < self._most_of_address <= self._by_network[name]:
            return self._close_one(lambda each: self._open[each] == name)
        return len(self._open) < self._most or self._close_one(lambda each: True)

    def add(self, channel: HttpChannel, address: str) -> None:
        """Add a new connection, which waits for a request."""
        self._open[channel] = network(address)
        self._by_network[network(address)] += 1
        self.wait(channel)

    def wait(self, channel: HttpChannel) -> None:
        """Note that a connection waits for a request from now on."""
        if channel in self._open:
            self._waiting[channel] = None

    def answer(self, channel: HttpChannel) -> None:
        """Note that a request on a connection is being answered."""
        self._waiting.pop(channel, None)

    def remove(self, channel: HttpChannel) -> None:
        """Remove a connection that was closed or no longer uses HTTP."""
        self._waiting.pop(channel, None)
        name = self._open.pop(channel, None)
        if name is not None:
            self._by_network[name] -= 1
            if not self._by_network[name]:
                del self._by_network[name]

    def _close_one(self, chosen: Callable[[HttpChannel], bool]) -> bool:
        channel = next(filter(chosen, self._waiting), None)
        if channel is None:
            return False
        self.remove(channel)
        channel.close_now()
        return True


class ServerRequest(Request):
    """A request with one Host header, a name of this server; its body is discarded."""

    channel: HttpChannel

    def gotLength(self, length: int | None) -> None:
        """Called by Twisted after the headers: no file is opened for a body."""
        self.content = io.BytesIO()

    def getHeader(self, key: AnyStr) -> AnyStr | None:
        """Return a header, or None; in a text, U+FFFD replaces bytes that are not UTF-8."""
        if isinstance(key, bytes):
            return super().getHeader(key)
        found = super().getHeader(key.encode())
        return None if found is None else found.decode(errors="replace")

    def process(self) -> None:
        """Respond to the request, or refuse it (RFC 9112, section 3.2)."""
        hosts = len(self.requestHeaders.getRawHeaders(b"Host", []))
        channel: Any = self.channel
        try:
            if hosts > 1 or (hosts == 0 and self.clientproto != b"HTTP/1.0"):
                raise HttpError(http.BAD_REQUEST, f"expected one Host header, not {hosts}")
            if hosts:
                channel.site.access.require_own_name(self.getHeader("Host") or "")
            if channel.pool.reserved and self.path not in channel.site.reserved_for:
                channel.persistent = False
                text = "too many connections; try again later"
                raise HttpError(http.SERVICE_UNAVAILABLE, text)
        except HttpError as error:
            send_response(self, error_as_text(error))
        else:
            super().process()  # type: ignore[no-untyped-call]

    def handleContentChunk(self, data: bytes) -> None:
        """Discard a part of the body."""


class HttpChannel(http.HTTPChannel):
    """One connection, whose responses all have the headers of `_ALWAYS`."""

    totalHeadersSize = MAX_HEADERS_BYTES
    site: LimitedSite
    pool: HttpConnections
    #: The protocol that the connection was switched to.
    _other: Any = None
    #: Whether more output waits for the peer than Twisted wants to hold.
    _is_full = False
    #: The bytes that the peer had not read at the last `timeoutConnection`.
    _unread: float = float("inf")

    def connectionMade(self) -> None:
        """Count the connection as open."""
        super().connectionMade()  # type: ignore[no-untyped-call]
        self.pool.add(self, _host(self.getPeer()))  # type: ignore[no-untyped-call]

    def allHeadersReceived(self) -> None:
        """Called by Twisted: refuse a body in chunks."""
        if not self.requests[-1].requestHeaders.hasHeader(b"Transfer-Encoding"):
            super().allHeadersReceived()  # type: ignore[no-untyped-call]
            return
        self.length = None  # it is unknown: the request is not answered when its head is read
        transport: Any = self.transport
        transport.write(_LENGTH_REQUIRED)
        self.loseConnection()

    def allContentReceived(self) -> None:
        """Called by Twisted: answer a request that has arrived completely."""
        self.pool.answer(self)
        super().allContentReceived()  # type: ignore[no-untyped-call]

    def requestDone(self, request: Request) -> None:
        """Called by Twisted: the response is written; wait for the next request.

        A request that has already arrived is answered later, when the peer has read the response:
        one read may contain hundreds.
        """
        self._unread = float("inf")
        self.pool.wait(self)
        super().requestDone(request)  # type: ignore[no-untyped-call]
        transport: Any = self.transport
        if not transport.disconnecting and (rest := self.clearLineBuffer()):  # type: ignore[no-untyped-call]
            self.paused = True
            self.setLineMode(rest)  # type: ignore[no-untyped-call]
            transport.pauseProducing()
            self.site.continue_later(self)

    def pauseProducing(self) -> None:
        """Called by Twisted: the peer does not read."""
        self._is_full = True
        super().pauseProducing()  # type: ignore[no-untyped-call]

    def resumeProducing(self) -> None:
        """Called by Twisted: the peer has read the output."""
        self._is_full = False
        super().resumeProducing()  # type: ignore[no-untyped-call]
        self.continue_reading()

    def continue_reading(self) -> None:
        """Answer the next request that has come already, unless output is unread."""
        transport: Any = self.transport
        if self.paused and not (self._is_full or transport.disconnecting) and transport.connected:
            self.paused = False
            transport.resumeProducing()
            self.dataReceived(b"")

    def dataReceived(self, data: bytes) -> None:
        """Pass bytes to HTTP, or to the protocol switched to."""
        if self._other:
            self._other.dataReceived(data)
        else:
            super().dataReceived(data)  # type: ignore[no-untyped-call]

    def rawDataReceived(self, data: bytes) -> None:
        """Pass bytes of a body, or bytes that followed the upgrade request, to the protocol."""
        transport: Any = self.transport
        if self._other:
            self._other.dataReceived(data)
        elif not transport.disconnecting:
            super().rawDataReceived(data)

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        """Count the connection as closed, and notify the protocol switched to."""
        self.pool.remove(self)
        if self._other:
            self._other.connectionLost(reason)
        else:
            super().connectionLost(reason)  # type: ignore[no-untyped-call]

    def switch_protocol(self, protocol: Any, head: bytes) -> None:
        """Write `head`, then hand the connection to another protocol, without a timeout."""
        self.pool.remove(self)
        transport: Any = self.transport
        transport.unregisterProducer()
        transport.write(head)
        self.requests.clear()
        self._other = protocol
        protocol.makeConnection(transport)

    def resetTimeout(self) -> None:
        """Do nothing, so that the timeout is that of a whole request, not of each byte."""

    def loseConnection(self) -> None:
        """Close the connection when the peer has read all output, or has stopped reading."""
        super().loseConnection()  # type: ignore[no-untyped-call]
        self.setTimeout(self.site.timeOut)  # type: ignore[no-untyped-call]

    def timeoutConnection(self) -> None:
        """Called by Twisted: close the connection, unless the peer still reads the output."""
        transport: Any = self.transport
        unread = queued_bytes(transport) if isinstance(transport, tcp.Connection) else 0
        if 0 < unread < self._unread:
            self._unread = unread
            self.setTimeout(self.site.timeOut)  # type: ignore[no-untyped-call]
        else:
            self.close_now()

    def close_now(self) -> None:
        """Close the connection; output that the peer has not read is dropped."""
        transport: Any = self.transport
        if isinstance(transport, tcp.Connection) and queued_bytes(transport):
            transport.abortConnection()
        else:
            transport.loseConnection()

    def writeHeaders(self, version: bytes, code: bytes, reason: bytes, headers: Headers) -> None:
        """Write the head of a response, with the headers of all responses."""
        headers.removeHeader(b"Server")
        for name, value in _ALWAYS.items():
            if name != _POLICY or not headers.hasHeader(name):
                headers.setRawHeaders(name, [value])
        if self.site.access.local:  # pages of other sites may read public data only
            headers.removeHeader(b"Access-Control-Allow-Origin")
        super().writeHeaders(version, code, reason, headers)  # type: ignore[no-untyped-call]


class LimitedSite(Site):
    """Accepts connections within the limits of its pools.

    There are at most `connections`; an address has a share of them, unless all are `proxied`. To
    make room for another one, the connection that has waited longest for a request is closed. If
    none waits, a few connections remain that serve only the paths `reserved_for`.
    """

    protocol = HttpChannel  # type: ignore[assignment]
    noisy = False

    def __init__(
        self,
        resource: Resource,
        access: Access,
        *,
        connections: int = MAX_CONNECTIONS,
        reserved_for: tuple[bytes, ...] = (),
        requests: type[ServerRequest] = ServerRequest,
        request_s: float | None = None,
    ) -> None:
        """`requests`: the class of requests. `request_s`: the time for one; None: `REQUEST_S`."""
        longest_s = REQUEST_S if request_s is None else request_s
        super().__init__(resource, requests, timeout=longest_s)  # type: ignore[no-untyped-call]
        self.access = access
        self.reserved_for = reserved_for
        reserve = min(RESERVE, connections // 4) if reserved_for else 0
        of_address = 0 if access.proxied else max(1, connections // ADDRESS_SHARE)
        #: A connection belongs to the first one that has room for it.
        self._pools = [HttpConnections(connections - reserve, of_address)]
        if reserve:
            self._pools.append(HttpConnections(reserve, 0, reserved=True))
        #: Connections with further requests, which are answered one in an iteration of the loop.
        self._further: deque[HttpChannel] = deque()

    def buildProtocol(self, addr: IAddress | None) -> Any:
        """A new connection; None if there is no room for it."""
        pool = next((each for each in self._pools if each.make_room(_host(addr))), None)
        if pool is None:
            return None
        channel = super().buildProtocol(addr)  # type: ignore[no-untyped-call]
        channel.pool = pool
        return channel

    def continue_later(self, channel: HttpChannel) -> None:
        """Answer the next request of a connection when it is its turn among those that wait."""
        self._further.append(channel)
        if len(self._further) == 1:
            self._schedule()

    def _continue_one(self) -> None:
        channel = self._further.popleft()
        if self._further:
            self._schedule()
        channel.continue_reading()

    def _schedule(self) -> None:
        reactor: Any = self.reactor
        reactor.callLater(0, self._continue_one)

    def log(self, request: http.Request) -> None:
        """Log nothing: pages send requests every few seconds."""


def _host(address: IAddress | None) -> str:
    return getattr(address, "host", "")
