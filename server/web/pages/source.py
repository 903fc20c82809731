"""The sources of data of the pages, and their responses: rendered, cached, errors."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from markupsafe import Markup
from twisted.internet.defer import Deferred
from twisted.web import http

from playout.server.core.hub import Hub
from playout.server.web.archive import Archive
from playout.server.web.http import HTML, Handler, HttpError, HttpRequest, HttpResponse
from playout.server.web.match_data import MatchLookup
from playout.server.web.templates import render

T = TypeVar("T")

_TITLES = {
    http.NOT_FOUND: "Not found",
    http.SERVICE_UNAVAILABLE: "Not available at the moment",
    http.INTERNAL_SERVER_ERROR: "Something went wrong",
}


@dataclass(frozen=True)
class _Cached(Generic[T]):
    """A value, the version of the data in it, and the time.monotonic() at which it expires."""

    value: T
    version: object
    expires_at: float


class PageCache(Generic[T]):
    """The last values by key: each is made once for all clients."""

    def __init__(self, most: int, valid_s: float = math.inf) -> None:
        """`most`: the most values; `valid_s`: the seconds for which each is valid."""
        self._most = most
        self._valid_s = valid_s
        self._cache: OrderedDict[Hashable, _Cached[T]] = OrderedDict()

    async def get(
        self, key: Hashable, make: Callable[[], Awaitable[T]], version: object = None
    ) -> T:
        """The cached value of a key, or a new one from `make` for another version of the data."""
        cached = self._cache.get(key)
        if cached is None or cached.version is not version or time.monotonic() >= cached.expires_at:
            cached = _Cached(await make(), version, time.monotonic() + self._valid_s)
            self._cache[key] = cached
            if len(self._cache) > self._most:
                self._cache.popitem(last=False)
        return cached.value


@dataclass(frozen=True)
class PageSource:
    """The hub with running matches, the archive with stored data, the lookup of all matches.

    `responses` has pages that many clients ask for, each made at most once a second; `sections` has
    the reports of tournaments as HTML.
    """

    hub: Hub
    archive: Archive
    lookup: MatchLookup
    responses: PageCache[HttpResponse] = field(default_factory=lambda: PageCache(128, 1.0))
    sections: PageCache[Markup] = field(default_factory=lambda: PageCache(16))


#: A page: responds to a request, and may wait for the archive.
Page = Callable[[PageSource, HttpRequest], Coroutine[Any, Any, HttpResponse]]


def render_page(name: str, status: int = http.OK, **context: object) -> HttpResponse:
    """A template rendered as a response."""
    return HttpResponse(render(name, **context), status, HTML)


def page_handler(source: PageSource, index: Page, item: Page | None = None) -> Handler:
    """A handler that calls `index` for a path itself, and `item` for paths below it."""

    def handle(request: HttpRequest) -> Deferred[HttpResponse]:
        page = item if item and any(request.path) else index
        return Deferred.fromCoroutine(page(source, request))

    return handle


def error_as_page(error: HttpError) -> HttpResponse:
    """The response for an error, as a page."""
    title = _TITLES.get(error.status, "Invalid request")
    return render_page("error.html", error.status, title=title, text=str(error))
