"""The lobby: who is here, what is sought and played, what has ended of late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

import games
from server.core.hub import Hub
from server.model.messages import Outcome, Overview
from server.storage.results import MatchRow, ResultPage
from server.web.archive import Archive
from server.web.http import HTML, Handler, HttpRequest, HttpResponse
from server.web.templates import render
from server.web.worker_pool import WorkUnavailable

RESULTS = 10


def lobby(hub: Hub, archive: Archive) -> Handler:
    """The page, as it is when it is asked for; its script keeps it up to date."""
    described = [asdict(games.describe(name)) for name in games.names()]

    def page(stored: ResultPage[MatchRow]) -> HttpResponse:
        overview = hub.lobby_feed.overview()
        body = render(
            "lobby.html",
            overview=overview,
            seeks=[seek for seek in overview.seeks if not seek.opponent],
            results=_results(overview, stored),
            games=described,
            data={"games": described},
        )
        return HttpResponse(body, kind=HTML)

    def handle(asked: HttpRequest) -> Deferred[HttpResponse]:
        found = archive.matches(per_page=RESULTS)
        return found.addErrback(_nothing).addCallback(page)

    return handle


def _nothing(failure: Failure) -> ResultPage[MatchRow]:
    """Without a database, the lobby is still good for playing."""
    failure.trap(WorkUnavailable)
    return ResultPage()


def _results(overview: Overview, stored: ResultPage[MatchRow]) -> Sequence[Outcome | MatchRow]:
    """The latest first. What has just ended may not be stored yet, or nothing ever is."""
    latest: dict[str, Outcome | MatchRow] = {
        each.match: each for each in reversed(overview.outcomes)
    }
    older = (each for each in stored.items if each.match not in latest)
    return [*latest.values(), *older][:RESULTS]
