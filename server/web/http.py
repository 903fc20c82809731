"""Requests and responses as values, and the Twisted resource that calls handlers with them."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import msgspec
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.interfaces import IPullProducer
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web import http
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request
from zope.interface import implementer

from playout.games import NotReady
from playout.server.web.texts import COOKIE, ENGLISH, Language, language_of

TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"
JSON = "application/json"

#: All data of a public server may be read by pages of other sites.
ANY_ORIGIN = {"Access-Control-Allow-Origin": "*"}

#: Shorter bodies are not compressed.
_MIN_GZIP_BYTES = 1024
#: Maximum number of bytes of a body that are written at once.
SLICE_BYTES = 2**16
#: Of the positions of a long match, level 4 makes 3.6 times as many bytes in the same time; of
#: other pages, 7 % more in half of the time, 0.8 instead of 1.6 ms for 79 kB.
_GZIP_LEVEL = 6

_log = Logger(namespace="server")


@dataclass(frozen=True)
class HttpRequest:
    """The segments of the path below the handler's path, and the query (`?name=value`).

    `language` is the language of a page. The `method` of a HEAD request is GET, too; its response
    has no body.
    """

    path: tuple[str, ...] = ()
    query: Mapping[str, str] = field(default_factory=dict)
    language: Language = ENGLISH
    method: str = "GET"


@dataclass(frozen=True)
class HttpResponse:
    """A body with its media type, status and headers.

    `cache_control` is `no-store`, `no-cache` for caches that revalidate it by its `etag`, or the
    term for which it is valid.
    `gzipped` is the compressed body; without it, the body is sent as it is.
    """

    body: bytes
    status: int = http.OK
    media_type: str = TEXT
    cache_control: str = "no-store"
    etag: str | None = None
    gzipped: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def cacheable_response(body: bytes, media_type: str, **more: Any) -> HttpResponse:
    """A response that caches may store and have to revalidate each time; `more`: other fields.

    It is hashed and compressed here, so that a large one is made in a worker thread.
    """
    etag = hashlib.sha256(body).hexdigest()[:32]
    return compressed(
        HttpResponse(body, media_type=media_type, cache_control="no-cache", etag=etag, **more)
    )


def compressed(response: HttpResponse) -> HttpResponse:
    """The response with its compressed body, unless it is short."""
    if response.gzipped is not None or len(response.body) < _MIN_GZIP_BYTES:
        return response
    return replace(response, gzipped=gzip.compress(response.body, _GZIP_LEVEL, mtime=0))


class HttpError(Exception):
    """An error response to a request: its status, and a text for people."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


#: Raises HttpError, or returns a Deferred that fails with it.
Handler = Callable[[HttpRequest], "HttpResponse | Deferred[HttpResponse]"]


def as_json(value: object, status: int = http.OK) -> HttpResponse:
    """Return a response with a value as JSON."""
    return HttpResponse(msgspec.json.encode(value), status, JSON)


#: Makes the response for an error: as text, as JSON or as a page.
ErrorRenderer = Callable[[HttpError, Language], HttpResponse]


def error_as_text(error: HttpError, language: Language = ENGLISH) -> HttpResponse:
    """The response for an error, as one line of text."""
    return HttpResponse(f"{error}\n".encode(), error.status)


def error_as_json(error: HttpError, language: Language = ENGLISH) -> HttpResponse:
    """The response for an error, as JSON with the field `error`, for programs in English."""
    body = msgspec.json.encode({"error": str(error)})
    return HttpResponse(body, error.status, JSON, headers=ANY_ORIGIN)


def request_language(request: Request) -> Language:
    """The language that a person has chosen, or that of the browser."""
    untyped: Any = request
    chosen = untyped.getCookie(COOKIE)
    accepted = request.getHeader("Accept-Language") or ""
    return language_of(chosen and chosen.decode(errors="replace"), accepted)


def parsed(request: Request) -> HttpRequest:
    """The request without its body. Raises HttpError."""
    untyped: Any = request
    parts = untyped.uri.partition(b"?")[2].split(b"&")
    empty = {name: b"" for name in parts if name and b"=" not in name}  # Twisted leaves them out
    given = {**empty, **{name: values[-1] for name, values in untyped.args.items()}}
    try:
        return HttpRequest(
            tuple(segment.decode() for segment in untyped.postpath),
            {name.decode(): value.decode() for name, value in given.items()},
            request_language(request),
            "GET" if request.method == b"HEAD" else request.method.decode("latin-1"),
        )
    except UnicodeDecodeError:
        raise HttpError(http.BAD_REQUEST, "the address is not UTF-8") from None


#: What a handler gets of a request.
R = TypeVar("R")


class HandlerResource(Resource, Generic[R]):
    """Calls a handler for a path and for all paths below it."""

    isLeaf = True

    def __init__(
        self,
        handler: Callable[[R], HttpResponse | Deferred[HttpResponse]],
        render_error: ErrorRenderer = error_as_text,
        parse: Callable[[Request], R] = parsed,  # type: ignore[assignment]
        methods: tuple[str, ...] = ("GET", "HEAD"),
    ) -> None:
        """`parse` converts a request for the handler."""
        super().__init__()  # type: ignore[no-untyped-call]
        self._handler = handler
        self._render_error = render_error
        self._parse = parse
        self._methods = methods

    def render(self, request: Request) -> int:
        """Respond to a request, at once or when the Deferred of the handler fires."""
        gone: list[Failure] = []
        request.notifyFinish().addErrback(gone.append)
        response: Deferred[HttpResponse] = maybeDeferred(self._handle, request)  # type: ignore[call-overload]
        response.addErrback(self._failed, request_language(request))
        response.addCallback(lambda response: None if gone else send_response(request, response))
        return NOT_DONE_YET

    def _handle(self, request: Request) -> HttpResponse | Deferred[HttpResponse]:
        if request.method.decode("latin-1") not in self._methods:
            allowed = " and ".join(", ".join(self._methods).rsplit(", ", 1))
            request.setHeader(b"Allow", ", ".join(self._methods).encode())
            raise HttpError(http.NOT_ALLOWED, f"only {allowed} are allowed here")
        return self._handler(self._parse(request))

    def _failed(self, failure: Failure, language: Language) -> HttpResponse:
        if isinstance(failure.value, HttpError):
            return self._render_error(failure.value, language)
        if isinstance(failure.value, NotReady):
            text = str(failure.value)
            return self._render_error(HttpError(http.SERVICE_UNAVAILABLE, text), language)
        _log.failure("an HTTP request failed", failure)
        error = HttpError(http.INTERNAL_SERVER_ERROR, "the server failed to answer this request")
        return self._render_error(error, language)


def send_response(request: Request, response: HttpResponse) -> None:
    """Write a response: compressed if the client accepts gzip, without a body if it has it."""
    headers: dict[str, str] = {
        "Content-Type": response.media_type,
        "Cache-Control": response.cache_control,
        "Vary": "Accept-Encoding",
        **response.headers,
    }
    body = response.body
    if response.gzipped is not None and _accepts_gzip(request):
        body = response.gzipped
        headers["Content-Encoding"] = "gzip"
    request.setResponseCode(response.status)
    for name, value in headers.items():
        request.setHeader(name, value)
    etag = response.etag and f'W/"{response.etag}"'.encode()
    if etag and request.setETag(etag) is http.CACHED:
        request.finish()
        return
    request.setHeader("Content-Length", str(len(body)))
    if len(body) <= SLICE_BYTES or request.method == b"HEAD":
        request.write(body)
        request.finish()
    else:
        _BodyProducer(request, body)


@implementer(IPullProducer)
class _BodyProducer:
    """Writes a long body in slices, each when the connection has sent the one before."""

    def __init__(self, request: Request, body: bytes) -> None:
        self._request = request
        self._rest = memoryview(body)
        untyped: Any = request
        untyped.registerProducer(self, False)

    def resumeProducing(self) -> None:
        """Called by Twisted: write the next slice, or end the response."""
        if not self._rest:
            untyped: Any = self._request
            untyped.unregisterProducer()
            self._request.finish()
            return
        self._request.write(bytes(self._rest[:SLICE_BYTES]))
        self._rest = self._rest[SLICE_BYTES:]

    def stopProducing(self) -> None:
        """Called by Twisted: the client has gone."""
        self._rest = memoryview(b"")


def _accepts_gzip(request: Request) -> bool:
    encodings = request.getHeader("Accept-Encoding") or ""
    return any(each.replace(" ", "") in ("gzip", "gzip;q=1.0") for each in encodings.split(","))
