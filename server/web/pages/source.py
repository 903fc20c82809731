"""Where pages read their data, and how they are rendered."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from twisted.internet.defer import Deferred
from twisted.web import http

from server.core.hub import Hub
from server.web.archive import Archive
from server.web.http import HTML, Handler, HttpError, HttpRequest, HttpResponse
from server.web.match_lookup import MatchLookup
from server.web.templates import render

_Coroutine = Callable[[HttpRequest], Coroutine[Any, Any, HttpResponse]]
_TITLES = {
    http.NOT_FOUND: "Not found",
    http.SERVICE_UNAVAILABLE: "Not available at the moment",
    http.INTERNAL_SERVER_ERROR: "Something went wrong",
}


@dataclass(frozen=True)
class PageSource:
    """The hub for what is running, the archive for what is stored, the lookup for matches."""

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
