"""The site: which handler answers which path, and what holds for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from twisted.internet.interfaces import IAddress
from twisted.python.failure import Failure
from twisted.web import http
from twisted.web.http_headers import Headers
from twisted.web.resource import Resource
from twisted.web.server import Request, Site

from server.runtime.metrics import CONTENT_TYPE, Metrics
from server.web.assets import Assets
from server.web.http import Explain, Handled, Handler, HttpError, HttpRequest, HttpResponse, as_text

#: A request is complete, and the next one too, within this time.
REQUEST_S = 10.0
#: Connections that ask for pages; those that have become live links are counted by the hub.
MAX_CONNECTIONS = 250
MAX_HEADERS_BYTES = 8192

#: Nothing from elsewhere, and no script or style within a page.
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
_ALWAYS = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


def site(
    metrics: Metrics,
    healthy: Callable[[], str | None],
    handlers: Mapping[str, Handler] | None = None,
    socket: Any = None,
    api: Any = None,
    explain: Explain = as_text,
) -> Site:
    """All that is served; `healthy` returns what is wrong, if anything is.

    `handlers`: of pages, by the first segment of their path, which is "" for the first page.
    `socket` and `api` are resources: of live links, and of what is for programs. `explain`: how a
    refusal looks to one who wants a page.
    """

    def health(asked: HttpRequest) -> HttpResponse:
        fault = healthy()
        return (
            HttpResponse(f"{fault}\n".encode(), http.SERVICE_UNAVAILABLE)
            if fault
            else HttpResponse(b"ok\n")
        )

    every: dict[str, Handler] = {
        "healthz": only(health),
        "metrics": only(lambda asked: HttpResponse(metrics.text(), kind=CONTENT_TYPE)),
        "static": Assets(),
        **(handlers or {}),
    }
    root: Any = _Root(every, explain)
    for name, resource in ((b"socket", socket), (b"api", api)):
        if resource is not None:
            root.putChild(name, resource)
    return _Site(root, _Request, timeout=REQUEST_S)


def only(handler: Handler) -> Handler:
    """The handler, for one path with nothing below it."""

    def checked(asked: HttpRequest) -> Any:
        return missing(asked) if asked.path else handler(asked)

    return checked


def missing(asked: HttpRequest) -> HttpResponse:
    """Of a path that leads nowhere. Raises Refused."""
    raise HttpError(http.NOT_FOUND, "not found")


class _Root(Resource):
    def __init__(self, handlers: Mapping[str, Handler], explain: Explain) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._handlers = handlers
        self._explain = explain

    def getChild(self, path: bytes, request: Request) -> Any:
        """What begins with a segment that has no resource of its own."""
        name = path.decode(errors="replace")
        return Handled(self._handlers.get(name, missing), self._explain)


class _Request(Request):
    """Nobody here reads what is sent along with a request, so it is not kept."""

    def handleContentChunk(self, data: bytes) -> None:
        """Some of it."""


class Channel(http.HTTPChannel):
    """One line. All that is said on it has the same headers."""

    totalHeadersSize = MAX_HEADERS_BYTES
    site: _Site
    #: What it speaks since it was switched from HTTP.
    _other: Any = None

    def connectionMade(self) -> None:
        """Somebody calls."""
        super().connectionMade()  # type: ignore[no-untyped-call]
        self.site.open.add(self)

    def dataReceived(self, data: bytes) -> None:
        """Some bytes."""
        if self._other:
            self._other.dataReceived(data)
        else:
            super().dataReceived(data)  # type: ignore[no-untyped-call]

    def rawDataReceived(self, data: bytes) -> None:
        """Some bytes of a body, or those that came right behind a request."""
        if self._other:
            self._other.dataReceived(data)
        else:
            super().rawDataReceived(data)

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        """The line is gone."""
        self.site.open.discard(self)
        if self._other:
            self._other.connectionLost(reason)
        else:
            super().connectionLost(reason)  # type: ignore[no-untyped-call]

    def switch(self, protocol: Any, head: bytes) -> None:
        """Say `head` and no more HTTP: the line belongs to another protocol, without a timeout."""
        self.site.open.discard(self)
        transport: Any = self.transport
        transport.unregisterProducer()
        transport.write(head)
        self.requests.clear()
        self._other = protocol
        protocol.makeConnection(transport)

    def resetTimeout(self) -> None:
        """A request has so much time in all: a byte now and then does not give it more."""

    def writeHeaders(self, version: bytes, code: bytes, reason: bytes, headers: Headers) -> None:
        """The head of a response."""
        headers.removeHeader(b"Server")
        for name, value in _ALWAYS.items():
            headers.setRawHeaders(name, [value])
        super().writeHeaders(version, code, reason, headers)  # type: ignore[no-untyped-call]


class _Site(Site):
    """Hangs up on those who are too many."""

    protocol = Channel  # type: ignore[assignment]
    noisy = False

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)  # type: ignore[no-untyped-call]
        self.open: set[Channel] = set()

    def buildProtocol(self, addr: IAddress | None) -> Any:
        """Somebody calls."""
        if len(self.open) >= MAX_CONNECTIONS:
            return None
        return super().buildProtocol(addr)  # type: ignore[no-untyped-call]

    def log(self, request: http.Request) -> None:
        """Who asks every few seconds is not worth a line."""
