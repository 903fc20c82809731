"""`/matches`: all matches, by game, player, opponent and tournament."""

from __future__ import annotations

from typing import TypedDict

import games
from server.web.answers import Answer, Asked, Handler
from server.web.pages.source import Source, page, shown
from server.web.parameters import Parameters


class Wanted(TypedDict):
    """Which matches."""

    game: str | None
    player: str | None
    opponent: str | None
    tournament: str | None


def index(source: Source) -> Handler:
    """The list."""

    async def show(asked: Asked) -> Answer:
        given = Parameters(asked, (*Wanted.__annotations__, "page"))
        wanted = Wanted(
            game=given.game,
            player=given.player,
            opponent=given.opponent,
            tournament=given.tournament,
        )
        return page(
            "matches.html",
            wanted=wanted,
            query={name: value for name, value in wanted.items() if value},
            games=sorted({*games.names(), *await source.archive.rated_games()}),
            running=source.finder.running(**wanted),
            ended=await source.archive.matches(page=given.page, **wanted),
        )

    return shown(show)
