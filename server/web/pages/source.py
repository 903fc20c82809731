"""Where pages have what they show from, and how they become answers."""

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

Show = Callable[[HttpRequest], Coroutine[Any, Any, HttpResponse]]
_TITLES = {
    http.NOT_FOUND: "There is nothing here",
    http.SERVICE_UNAVAILABLE: "Not at the moment",
    http.INTERNAL_SERVER_ERROR: "Something went wrong",
}


@dataclass(frozen=True)
class PageSource:
    """What runs, what is stored, and matches wherever they are."""

    hub: Hub
    archive: Archive
    finder: MatchLookup


def page(name: str, status: int = http.OK, **context: object) -> HttpResponse:
    """The template of that file name, filled in, as an answer."""
    return HttpResponse(render(name, **context), status, HTML)


def shown(show: Show) -> Handler:
    """A handler that may wait for what is stored."""
    return lambda asked: Deferred.fromCoroutine(show(asked))


def either(index: Handler, item: Handler) -> Handler:
    """One handler for a path itself, another for what is below it."""
    return lambda asked: item(asked) if any(asked.path) else index(asked)


def explain(refused: HttpError) -> HttpResponse:
    """A refusal as a page."""
    title = _TITLES.get(refused.status, "That cannot be done")
    return page("error.html", refused.status, title=title, text=str(refused))
