"""`/matches`: lists of matches, by game, players, result, days and tournament."""

from __future__ import annotations

from playout import games
from playout.server.storage.results import RESULTS, MatchFilter
from playout.server.web.http import Handler, HttpRequest, HttpResponse
from playout.server.web.pages.source import PageSource, async_handler, render_page
from playout.server.web.parameters import Parameters

#: The names that the form suggests.
_SUGGESTED = 100


def index(source: PageSource) -> Handler:
    """The handler of the list."""

    async def respond(request: HttpRequest) -> HttpResponse:
        parameters = Parameters(request, (*MatchFilter._fields, "page"))
        match_filter = parameters.match_filter
        chosen = {match_filter.game} if match_filter.game else set()
        return render_page(
            "matches.html",
            match_filter=match_filter,
            query={name: value for name, value in match_filter._asdict().items() if value},
            games=sorted({*games.names(), *chosen, *await source.archive.games()}),
            players=await source.archive.latest_players(_SUGGESTED),
            results=RESULTS,
            running=source.lookup.running(match_filter),
            ended=await source.archive.matches(match_filter, parameters.page),
        )

    return async_handler(respond)
