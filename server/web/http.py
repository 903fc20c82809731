"""What is asked for by HTTP, what is answered, and how one becomes the other."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web import http
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request

TEXT = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"
JSON = "application/json"

#: What is shorter is sent as it is.
_WORTH_PACKING = 1024
#: A third of the time of the usual level, for a tenth more bytes.
_PACKING = 4

_log = Logger(namespace="server")


@dataclass(frozen=True)
class HttpRequest:
    """What is wanted: the segments of the path below the handler's own, and `?name=value`."""

    path: tuple[str, ...] = ()
    query: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class HttpResponse:
    """A body, its media type and status.

    `cache` says who may keep it: nobody, or, as `no-cache`, whoever asks each time whether it has
    changed, by `etag`. `packed` is the body as gzip has it; without it, it is compressed when sent.
    """

    body: bytes
    status: int = http.OK
    kind: str = TEXT
    cache: str = "no-store"
    etag: str | None = None
    packed: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def revalidated(body: bytes, kind: str, headers: Mapping[str, str]) -> HttpResponse:
    """One that may be kept by whoever asks each time whether it has changed."""
    etag = hashlib.sha256(body).hexdigest()[:32]
    return HttpResponse(body, kind=kind, cache="no-cache", etag=etag, headers=headers)


class HttpError(Exception):
    """Something that is not there, or asked for in a wrong way: status, and text for people."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


#: Raises Refused, or has it come from the Deferred.
Handler = Callable[[HttpRequest], "HttpResponse | Deferred[HttpResponse]"]
#: How a refusal looks.
Explain = Callable[[HttpError], HttpResponse]


def as_text(refused: HttpError) -> HttpResponse:
    """A refusal as one line."""
    return HttpResponse(f"{refused}\n".encode(), refused.status)


class Handled(Resource):
    """A path, and all below it, that a handler answers."""

    isLeaf = True

    def __init__(self, handler: Handler, explain: Explain) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._handler = handler
        self._explain = explain

    def render(self, request: Request) -> int:
        """Answer a request, now or later."""
        gone: list[Failure] = []
        request.notifyFinish().addErrback(gone.append)
        answer: Deferred[HttpResponse] = maybeDeferred(self._handle, request)  # type: ignore[call-overload]
        answer.addErrback(self._explained)
        answer.addCallback(lambda answer: None if gone else send(request, answer))
        return NOT_DONE_YET

    def _handle(self, request: Request) -> HttpResponse | Deferred[HttpResponse]:
        if request.method not in (b"GET", b"HEAD"):
            request.setHeader(b"Allow", b"GET, HEAD")
            raise HttpError(http.NOT_ALLOWED, "only GET and HEAD are allowed here")
        return self._handler(_asked(request))

    def _explained(self, failure: Failure) -> HttpResponse:
        if isinstance(failure.value, HttpError):
            return self._explain(failure.value)
        _log.failure("cannot answer by HTTP", failure)
        fault = HttpError(
            http.INTERNAL_SERVER_ERROR, "the server has a fault and could not do that"
        )
        return self._explain(fault)


def _asked(request: Request) -> HttpRequest:
    given: Any = request
    try:
        return HttpRequest(
            tuple(segment.decode() for segment in given.postpath),
            {name.decode(): values[-1].decode() for name, values in given.args.items()},
        )
    except UnicodeDecodeError:
        raise HttpError(http.BAD_REQUEST, "the address is not UTF-8") from None


def send(request: Request, answer: HttpResponse) -> None:
    """Answer a request."""
    headers: dict[str, str] = {
        "Content-Type": answer.kind,
        "Cache-Control": answer.cache,
        "Vary": "Accept-Encoding",
        **answer.headers,
    }
    body = answer.body
    if _takes_gzip(request) and len(body) >= _WORTH_PACKING:
        body = answer.packed or gzip.compress(body, _PACKING, mtime=0)
        headers["Content-Encoding"] = "gzip"
    request.setResponseCode(answer.status)
    for name, value in headers.items():
        request.setHeader(name, value)
    unchanged = answer.etag and request.setETag(f'W/"{answer.etag}"'.encode()) is http.CACHED
    if not unchanged:
        request.setHeader("Content-Length", str(len(body)))
        request.write(body)
    request.finish()


def _takes_gzip(request: Request) -> bool:
    said = request.getHeader("Accept-Encoding") or ""
    return any(each.replace(" ", "") in ("gzip", "gzip;q=1.0") for each in said.split(","))
