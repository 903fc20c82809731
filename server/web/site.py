"""The site: the handlers by path, and the limits and headers of all responses."""

from __future__ import annotations

import hmac
import socket as sockets
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from twisted.internet import tcp
from twisted.internet.interfaces import IAddress
from twisted.python.failure import Failure
from twisted.web import http
from twisted.web.http_headers import Headers
from twisted.web.resource import Resource
from twisted.web.server import Request, Site

from playout.protocol.endpoints import is_loopback
from playout.server.core.rate_limits import is_address
from playout.server.runtime.metrics import CONTENT_TYPE, Metrics
from playout.server.runtime.reactor import has_queued_output, queued_bytes
from playout.server.web.http import (
    ErrorRenderer,
    Handler,
    HandlerResource,
    HttpError,
    HttpRequest,
    HttpResponse,
    error_as_text,
    send_response,
)
from playout.server.web.http_connections import MAX_CONNECTIONS, HttpConnections, connection_pools
from playout.server.web.templates import Assets, ScriptTexts

#: Seconds in which a request must arrive completely, and the next one on the same connection; and
#: in which a peer must read some of the output that waits for it.
REQUEST_S = 4.0
#: The paths that are served on the reserved connections.
_RESERVED_FOR = (b"/healthz", b"/metrics")
MAX_HEADERS_BYTES = 8192
#: The status of a request that is meant for another server (RFC 9110, section 15.5.20).
_MISDIRECTED = 421

_POLICY = "Content-Security-Policy"


def content_policy(sites: Iterable[str] = ()) -> dict[str, str]:
    """The header by which a browser shows a page in frames of these sites only.

    It loads nothing from other sites, and runs no script or style within a page.
    """
    rules = (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "manifest-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors " + (" ".join(sites) or "'none'"),
    )
    return {_POLICY: "; ".join(rules)}


#: The headers of all responses; one may have another policy.
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
    `metrics_password`, programs on other machines may read the metrics.
    """

    local: bool = True
    proxied: bool = False
    names: tuple[str, ...] = ()
    metrics_password: str | None = None

    def require_own_name(self, header: str) -> None:
        """Check the Host header of a request. Raises HttpError.

        The owner of any name can make it resolve to this machine (DNS rebinding), so that a page of
        another site seems to be one of this server.
        """
        try:
            name = (urlsplit(f"//{header}").hostname or "").lower()
        except ValueError:
            name = ""
        if self.proxied or is_address(name) or name.rpartition(".")[2] == "localhost":
            return
        if name in self.names or (not self.local and name in _own_names()):
            return
        text = f"this server is not known as {name!r}; its operator can add --http-name {name}"
        raise HttpError(_MISDIRECTED, text)

    def may_measure(self, request: Request) -> bool:
        """Whether the metrics are for this client: with the password, or on this machine."""
        untyped: Any = request
        if self.metrics_password is not None:
            return hmac.compare_digest(untyped.getPassword(), self.metrics_password.encode())
        forwarded = request.getHeader("X-Forwarded-For") is not None
        return not forwarded and is_loopback(getattr(untyped.getClientAddress(), "host", ""))


def _own_names() -> tuple[str, str]:
    name = sockets.gethostname().lower()
    return name, f"{name}.local"


def make_site(
    metrics: Metrics,
    healthy: Callable[[], str | None],
    handlers: Mapping[str, Handler] | None = None,
    socket: Any = None,
    api: Any = None,
    render_error: ErrorRenderer = error_as_text,
    connections: int = MAX_CONNECTIONS,
    *,
    access: Access = Access(),
    warning: Callable[[], str | None] = lambda: None,
) -> Site:
    """The site with its health check, metrics, static files and `handlers`.

    `healthy` returns why the server is not healthy, None if it is; `warning` what an operator
    should know of a healthy one. `handlers`: those of pages, by the first segment of their path, ""
    for the first page. `socket` and `api` are the resources of the WebSocket and of the JSON API.
    `render_error` makes the response for errors of pages.

    There are at most `connections`; an address has a share of them, unless all are `proxied`. For
    another one, the connection is closed that has waited for a request for longest. If there is
    none, a few connections are left on which only health and metrics are served.
    """

    def health(request: HttpRequest) -> HttpResponse:
        if fault := healthy():
            return HttpResponse(f"{fault}\n".encode(), http.SERVICE_UNAVAILABLE)
        known = warning()
        return HttpResponse(f"ok\nwarning: {known}\n".encode() if known else b"ok\n")

    def measure(request: HttpRequest) -> HttpResponse:
        return HttpResponse(metrics.text(), media_type=CONTENT_TYPE)

    all_handlers: dict[str, Handler] = {
        "healthz": exact_path(health),
        "metrics": exact_path(measure),
        "static": Assets(),
        "texts": ScriptTexts(),
        **(handlers or {}),
    }
    root: Any = _Root(all_handlers, render_error, access)
    for name, resource in ((b"socket", socket), (b"api", api)):
        if resource is not None:
            root.putChild(name, resource)
    pools = connection_pools(connections, shared_address=access.proxied)
    return _Site(root, _Request, timeout=REQUEST_S, pools=pools, access=access)


def exact_path(handler: Handler) -> Handler:
    """A handler for one path; paths below it are not found."""

    def checked(request: HttpRequest) -> Any:
        return not_found(request) if request.path else handler(request)

    return checked


def not_found(request: HttpRequest) -> HttpResponse:
    """The handler of unknown paths. Raises HttpError with status 404."""
    raise HttpError(http.NOT_FOUND, "not found")


class _Root(Resource):
    def __init__(
        self, handlers: Mapping[str, Handler], render_error: ErrorRenderer, access: Access
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._handlers = handlers
        self._render_error = render_error
        self._access = access

    def getChild(self, path: bytes, request: Request) -> Any:
        """The handler of the first segment of a path."""
        name = path.decode(errors="replace")
        handler = self._handlers.get(name, not_found)
        if name == "metrics" and not self._access.may_measure(request):
            request.setHeader("WWW-Authenticate", 'Basic realm="metrics"')
            handler = _without_password
        return HandlerResource(handler, self._render_error)


def _without_password(request: HttpRequest) -> HttpResponse:
    text = "the metrics are for programs on this machine, or for those with the password"
    raise HttpError(http.UNAUTHORIZED, f"{text} of --metrics-password-file")


class _Request(Request):
    """A request whose body is discarded, as no handler reads one.

    It needs one Host header, with a name of this server.
    """

    channel: HttpChannel

    def process(self) -> None:
        """Respond to the request, or refuse it (RFC 9112, section 3.2)."""
        hosts = len(self.requestHeaders.getRawHeaders(b"Host", []))
        channel: Any = self.channel
        try:
            if hosts > 1 or (hosts == 0 and self.clientproto != b"HTTP/1.0"):
                raise HttpError(http.BAD_REQUEST, f"expected one Host header, not {hosts}")
            if hosts:
                channel.site.access.require_own_name(self.getHeader("Host") or "")
            if channel.pool.reserved and self.path not in _RESERVED_FOR:
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
    site: _Site
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

    def allContentReceived(self) -> None:
        """Called by Twisted: answer a request that has arrived completely."""
        self.pool.answer(self)
        super().allContentReceived()  # type: ignore[no-untyped-call]

    def requestDone(self, request: Request) -> None:
        """Called by Twisted: the response is written; wait for the next request.

        One that has come already is answered later, when the peer has read the response: in one
        read may be hundreds.
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
        if self._other:
            self._other.dataReceived(data)
        else:
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
        """Close the connection when the peer has read all output, or reads nothing more."""
        super().loseConnection()  # type: ignore[no-untyped-call]
        self.setTimeout(REQUEST_S)  # type: ignore[no-untyped-call]

    def timeoutConnection(self) -> None:
        """Called by Twisted: close the connection, unless the peer still reads the output."""
        transport: Any = self.transport
        unread = queued_bytes(transport) if isinstance(transport, tcp.Connection) else 0
        if 0 < unread < self._unread:
            self._unread = unread
            self.setTimeout(REQUEST_S)  # type: ignore[no-untyped-call]
        else:
            self.close_now()

    def close_now(self) -> None:
        """Close the connection; output that the peer has not read is dropped."""
        transport: Any = self.transport
        if isinstance(transport, tcp.Connection) and has_queued_output(transport):
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


class _Site(Site):
    """Accepts connections within the limits of its pools."""

    protocol = HttpChannel  # type: ignore[assignment]
    noisy = False

    def __init__(
        self, *args: Any, pools: tuple[HttpConnections, ...], access: Access, **kwargs: Any
    ) -> None:
        """`pools`: a connection belongs to the first one that has room for it."""
        super().__init__(*args, **kwargs)  # type: ignore[no-untyped-call]
        self.access = access
        self._pools = pools
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
