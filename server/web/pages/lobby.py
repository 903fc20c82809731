"""The lobby: players, open seeks, running matches and the latest results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from msgspec import to_builtins
from twisted.python.failure import Failure

from playout.protocol.messages import Outcome, Overview
from playout.server.core.hub import Hub
from playout.server.runtime.game_compilation import all_descriptions
from playout.server.storage.results import MatchRow
from playout.server.web.archive import Archive
from playout.server.web.http import HTML, Handler, HttpRequest, HttpResponse
from playout.server.web.pages.source import async_handler
from playout.server.web.templates import render
from playout.server.web.worker_pool import WorkUnavailable

#: The game that is selected by default: one that most people know.
FIRST_GAME = "connect_four"
#: The number of results on the page.
RESULTS = 10


def lobby(hub: Hub, archive: Archive) -> Handler:
    """The handler of the page; its script keeps the page up to date."""
    descriptions: list[dict[str, Any]] = []

    def page(stored: Sequence[MatchRow]) -> HttpResponse:
        names = [each["name"] for each in descriptions]
        first_game = FIRST_GAME if FIRST_GAME in names else next(iter(names), None)
        overview = hub.lobby_feed.overview()
        body = render(
            "lobby.html",
            overview=overview,
            seeks=[seek for seek in overview.seeks if not seek.opponent],
            results=_results(overview, stored),
            games=descriptions,
            first_game=first_game,
            data={"games": descriptions, "bots": to_builtins(hub.bots.offered)},
        )
        return HttpResponse(body, media_type=HTML)

    async def respond(request: HttpRequest) -> HttpResponse:
        if not descriptions:
            descriptions[:] = map(asdict, await archive.run_in_thread(all_descriptions))
        return page(await archive.latest_matches(RESULTS).addErrback(_no_matches))

    return async_handler(respond)


def _no_matches(failure: Failure) -> list[MatchRow]:
    """No matches if the database fails, so that people can still play."""
    failure.trap(WorkUnavailable)
    return []


def _results(overview: Overview, stored: Sequence[MatchRow]) -> Sequence[Outcome | MatchRow]:
    """Results, the latest first; those of the overview may not be stored."""
    latest: dict[str, Outcome | MatchRow] = {
        each.match: each for each in reversed(overview.outcomes)
    }
    older = (each for each in stored if each.match not in latest)
    return [*latest.values(), *older][:RESULTS]
