"""`/players`: who is rated at a game, and everybody; `/players/NAME`: one of them."""

from __future__ import annotations

from twisted.web import http

from server.storage.results import MatchFilter, page_of
from server.web.history import history
from server.web.http import Handler, HttpError, HttpRequest, HttpResponse
from server.web.pages.source import PageSource, page, shown
from server.web.parameters import Parameters, name_of

_PER_PAGE = 100
#: Of a player's own page.
_LATEST = 20


def index(source: PageSource) -> Handler:
    """A table of ratings for each game, and everybody."""

    async def show(asked: HttpRequest) -> HttpResponse:
        given = Parameters(asked, ("game", "list", "page"))
        games = await source.archive.rated_games()
        everybody = given.choice("list", "rated", ("rated", "everybody")) == "everybody"
        if given.game is None and (everybody or not games):
            people = await source.archive.players(given.page, _PER_PAGE)
            return page("everybody.html", games=games, game="", people=people)
        game = given.game or games[0]
        ladder = await source.archive.ratings(game)
        rows = page_of(list(enumerate(ladder.entries, 1)), given.page, _PER_PAGE)
        return page("players.html", games=games, game=game, ladder=ladder, rows=rows)

    return shown(show)


def item(source: PageSource) -> Handler:
    """One player."""

    async def show(asked: HttpRequest) -> HttpResponse:
        name = name_of("/".join(asked.path))
        player = await source.archive.player(name)
        if player is None:
            text = f"No player is called {name!r}. Guests have no page of their own."
            raise HttpError(http.NOT_FOUND, text)
        its = MatchFilter(player=player.name)
        return page(
            "player.html",
            player=player,
            plots={each.game: history(each.versions) for each in player.games},
            running=source.finder.running(its),
            ended=await source.archive.matches(its, per_page=_LATEST),
        )

    return shown(show)
