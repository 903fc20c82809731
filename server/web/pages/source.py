"""The sources of data of the pages, and their responses: rendered, cached, errors."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any

from twisted.internet.defer import Deferred
from twisted.web import http

from playout.server.core.hub import Hub
from playout.server.web.archive import Archive
from playout.server.web.http import HTML, Handler, HttpError, HttpRequest, HttpResponse
from playout.server.web.match_data import MatchLookup
from playout.server.web.templates import render

_Coroutine = Callable[[HttpRequest], Coroutine[Any, Any, HttpResponse]]
_TITLES = {
    http.NOT_FOUND: "Not found",
    http.SERVICE_UNAVAILABLE: "Not available at the moment",
    http.INTERNAL_SERVER_ERROR: "Something went wrong",
}


@dataclass(frozen=True)
class PageSource:
    """The hub with running matches, the archive with stored data, the lookup of all matches."""

    hub: Hub
    archive: Archive
    lookup: MatchLookup


def render_page(name: str, status: int = http.OK, **context: object) -> HttpResponse:
    """A template rendered as a response."""
    return HttpResponse(render(name, **context), status, HTML)


def async_handler(respond: _Coroutine) -> Handler:
    """A handler from a coroutine function, which may wait for the archive."""
    return lambda request: Deferred.fromCoroutine(respond(request))


def index_or_item(index: Handler, item: Handler) -> Handler:
    """A handler that calls `index` for a path itself, and `item` for paths below it."""
    return lambda request: item(request) if any(request.path) else index(request)


def error_as_page(error: HttpError) -> HttpResponse:
    """The response for an error, as a page."""
    title = _TITLES.get(error.status, "Invalid request")
    return render_page("error.html", error.status, title=title, text=str(error))


#: The most cached responses, and the seconds for which each is valid.
_MAX_RESPONSES, _VALID_S = 64, 1.0


@dataclass(frozen=True)
class _CachedResponse:
    """A response, and the time.monotonic() at which it expires."""

    response: HttpResponse
    expires_at: float


class ResponseCache:
    """The last responses by key: each is made at most once a second for all clients."""

    def __init__(self) -> None:
        self._cache: OrderedDict[Hashable, _CachedResponse] = OrderedDict()

    async def get(self, key: Hashable, make: Callable[[], Awaitable[HttpResponse]]) -> HttpResponse:
        """The cached response of a key, or a new one from `make`."""
        cached = self._cache.get(key)
        if cached is None or time.monotonic() >= cached.expires_at:
            cached = _CachedResponse(await make(), time.monotonic() + _VALID_S)
            self._cache[key] = cached
            if len(self._cache) > _MAX_RESPONSES:
                self._cache.popitem(last=False)
        return cached.response
