"""`/matches`: all matches, by game, player, opponent and tournament."""

from __future__ import annotations

import games
from server.storage.results import MatchFilter
from server.web.http import Handler, HttpRequest, HttpResponse
from server.web.pages.source import PageSource, page, shown
from server.web.parameters import Parameters


def index(source: PageSource) -> Handler:
    """The list."""

    async def show(asked: HttpRequest) -> HttpResponse:
        given = Parameters(asked, (*MatchFilter._fields, "page"))
        chosen = given.matches
        return page(
            "matches.html",
            wanted=chosen,
            query={name: value for name, value in chosen._asdict().items() if value},
            games=sorted({*games.names(), *await source.archive.rated_games()}),
            running=source.finder.running(chosen),
            ended=await source.archive.matches(chosen, given.page),
        )

    return shown(show)
