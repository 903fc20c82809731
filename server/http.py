"""HTTP, for those who look after the server: is it well, and what has it counted?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from twisted.internet.interfaces import IAddress
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory
from twisted.web import http
from twisted.web.http_headers import Headers
from twisted.web.resource import Resource
from twisted.web.server import Request, Site

from server.metrics import CONTENT_TYPE, Metrics

#: A request is complete, and the next one too, within this time.
REQUEST_S = 10.0
MAX_CONNECTIONS = 100
MAX_HEADERS_BYTES = 8192

_TEXT = "text/plain; charset=utf-8"


def site(metrics: Metrics, healthy: Callable[[], str | None]) -> WrappingFactory[Any]:
    """`/healthz` and `/metrics`; `healthy` returns what is wrong, if anything is."""

    def health() -> Answer:
        fault = healthy()
        return Answer(f"{fault}\n".encode(), http.SERVICE_UNAVAILABLE) if fault else Answer(b"ok\n")

    root: Any = Page(lambda: _NOT_FOUND)  # an IResource, which zope declares
    root.putChild(b"healthz", Page(health))
    root.putChild(b"metrics", Page(lambda: Answer(metrics.text(), kind=CONTENT_TYPE)))
    inner = _Site(root, _Request, timeout=REQUEST_S)  # type: ignore[no-untyped-call]
    return _Limited(inner)  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class Answer:
    """What a page says: its body, the status and the media type."""

    body: bytes
    status: int = http.OK
    kind: str = _TEXT


_NOT_FOUND = Answer(b"not found\n", http.NOT_FOUND)
_ONLY_READ = Answer(b"only GET and HEAD are allowed here\n", http.NOT_ALLOWED)


class Page(Resource):
    """Something that is made anew each time it is read. Below it is nothing that was not put."""

    def __init__(self, make: Callable[[], Answer]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._make = make

    def getChild(self, path: bytes, request: Request) -> Any:
        """Of what is not there."""
        return Page(lambda: _NOT_FOUND)

    def render(self, request: Request) -> bytes:
        """Answer a request."""
        if request.method in (b"GET", b"HEAD"):
            answer = self._make()
        else:
            answer = _ONLY_READ
            request.setHeader(b"Allow", b"GET, HEAD")
        request.setResponseCode(answer.status)
        request.setHeader(b"Content-Type", answer.kind.encode())
        request.setHeader(b"Cache-Control", b"no-store")
        return answer.body


class _Request(Request):
    """Nobody here reads what is sent along with a request, so it is not kept."""

    def handleContentChunk(self, data: bytes) -> None:
        """Some of it."""


class _Channel(http.HTTPChannel):
    """One line. All that is said on it has the same headers."""

    totalHeadersSize = MAX_HEADERS_BYTES

    def resetTimeout(self) -> None:
        """A request has so much time in all: a byte now and then does not give it more."""

    def writeHeaders(self, version: bytes, code: bytes, reason: bytes, headers: Headers) -> None:
        """The head of a response."""
        headers.removeHeader(b"Server")
        headers.setRawHeaders(b"X-Content-Type-Options", [b"nosniff"])
        super().writeHeaders(version, code, reason, headers)  # type: ignore[no-untyped-call]


class _Site(Site):
    protocol = _Channel  # type: ignore[assignment]
    noisy = False

    def log(self, request: http.Request) -> None:
        """Who asks every few seconds is not worth a line."""


class _Limited(WrappingFactory[Any]):
    """Hangs up on those who are too many."""

    noisy = False

    def buildProtocol(self, addr: IAddress | None) -> ProtocolWrapper | None:
        """Somebody calls."""
        if len(self.protocols) >= MAX_CONNECTIONS:
            return None
        return super().buildProtocol(addr)  # type: ignore[no-any-return]
