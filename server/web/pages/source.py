"""The sources of data of the pages, and their responses: rendered, cached, errors."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from markupsafe import Markup
from twisted.internet.defer import Deferred
from twisted.web import http

from playout.server.core.hub import Hub
from playout.server.web.archive import Archive
from playout.server.web.http import (
    HTML,
    Handler,
    HttpError,
    HttpRequest,
    HttpResponse,
    compressed,
)
from playout.server.web.match_data import MatchData, MatchLookup
from playout.server.web.templates import VARIES, render
from playout.server.web.texts import ENGLISH, Language
from playout.server.web.worker_pool import IterativeLock

T = TypeVar("T")


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
        #: The keys whose values are being made, for which others wait.
        self._making: dict[Hashable, IterativeLock] = {}

    async def get(
        self, key: Hashable, make: Callable[[], Awaitable[T]], version: object = None
    ) -> T:
        """The cached value of a key, or a new one from `make` for another version of the data."""
        cached = self._cached(key, version)
        if cached is None:
            making = self._making.setdefault(key, IterativeLock())
            try:
                async with making:
                    cached = self._cached(key, version) or await self._made(key, make, version)
            finally:
                if not (making.locked or making.waiting):
                    self._making.pop(key, None)
        return cached.value

    def _cached(self, key: Hashable, version: object) -> _Cached[T] | None:
        cached = self._cache.get(key)
        valid = cached and cached.version is version and time.monotonic() < cached.expires_at
        return cached if valid else None

    async def _made(
        self, key: Hashable, make: Callable[[], Awaitable[T]], version: object
    ) -> _Cached[T]:
        cached = _Cached(await make(), version, time.monotonic() + self._valid_s)
        self._cache[key] = cached
        if len(self._cache) > self._most:
            self._cache.popitem(last=False)
        return cached


class MatchResponses:
    """Responses with a whole match, each made once for all clients of a language.

    Those of a running match are made again every second, for its clocks, and after a move.
    """

    def __init__(self) -> None:
        self._over: PageCache[HttpResponse] = PageCache(8)
        self._running: PageCache[HttpResponse] = PageCache(8, 1.0)

    async def get(
        self,
        data: MatchData,
        make: Callable[[], Awaitable[HttpResponse]],
        language: Language = ENGLISH,
    ) -> HttpResponse:
        """The response with this data."""
        cache = self._over if data.result else self._running
        return await cache.get((data.match, language.code), make, version=data.positions)


@dataclass(frozen=True)
class PageSource:
    """The hub with running matches, the archive with stored data, the lookup of all matches.

    The sites of `embed_on` may show matches and tournaments in a frame. `benchmarks` has the
    folders of benchmarks of language models by name. `responses` has pages that many clients ask
    for, each made at most once a second, `matches` those of matches, `frames` those of matches in a
    frame; `sections` has the reports of tournaments as HTML.
    """

    hub: Hub
    archive: Archive
    lookup: MatchLookup
    embed_on: tuple[str, ...] = ()
    benchmarks: Mapping[str, Path] = field(default_factory=dict)
    responses: PageCache[HttpResponse] = field(default_factory=lambda: PageCache(128, 1.0))
    matches: MatchResponses = field(default_factory=MatchResponses)
    frames: MatchResponses = field(default_factory=MatchResponses)
    sections: PageCache[Markup] = field(default_factory=lambda: PageCache(16))

    def render(self, name: str, language: Language, **context: object) -> Deferred[HttpResponse]:
        """A template rendered as a response, in a worker thread; so are generators in `context`."""
        return self.archive.run_in_thread(lambda: render_page(name, language, http.OK, **context))


#: A page: responds to a request, and may wait for the archive.
Page = Callable[[PageSource, HttpRequest], Coroutine[Any, Any, HttpResponse]]


def render_page(
    name: str, language: Language, status: int = http.OK, **context: object
) -> HttpResponse:
    """A template rendered as a response: slow for a long match, so use `PageSource.render`."""
    body = render(name, language, **context)
    return compressed(HttpResponse(body, status, HTML, headers=VARIES))


def plain_page(template: str) -> Page:
    """A page of a template without data."""

    async def page(source: PageSource, request: HttpRequest) -> HttpResponse:
        return await source.render(template, request.language)

    return page


def page_handler(source: PageSource, index: Page, item: Page | None = None) -> Handler:
    """A handler that calls `index` for a path itself, and `item` for paths below it."""

    def handle(request: HttpRequest) -> Deferred[HttpResponse]:
        page = item if item and any(request.path) else index
        return Deferred.fromCoroutine(page(source, request))

    return handle


def error_as_page(error: HttpError, language: Language) -> HttpResponse:
    """The response for an error, as a page."""
    titles = {
        http.NOT_FOUND: language.gettext("Not found"),
        http.SERVICE_UNAVAILABLE: language.gettext("Not available at the moment"),
        http.INTERNAL_SERVER_ERROR: language.gettext("Something went wrong"),
    }
    title = titles.get(error.status, language.gettext("Invalid request"))
    text = language.told(str(error))
    if not text.endswith((".", "。", "?", "!")):
        text = language.gettext("%(text)s.") % {"text": text}
    return render_page("error.html", language, error.status, title=title, text=text)
