"""`/matches`: lists of matches, by game, player, opponent and tournament."""

from __future__ import annotations

import games
from server.storage.results import MatchFilter
from server.web.http import Handler, HttpRequest, HttpResponse
from server.web.pages.source import PageSource, async_handler, render_page
from server.web.parameters import Parameters


def index(source: PageSource) -> Handler:
    """The handler of the list."""

    async def respond(request: HttpRequest) -> HttpResponse:
        parameters = Parameters(request, (*MatchFilter._fields, "page"))
        match_filter = parameters.match_filter
        return render_page(
            "matches.html",
            match_filter=match_filter,
            query={name: value for name, value in match_filter._asdict().items() if value},
            games=sorted({*games.names(), *await source.archive.rated_games()}),
            running=source.lookup.running(match_filter),
            ended=await source.archive.matches(match_filter, parameters.page),
        )

    return async_handler(respond)
