"""`/players`: the ratings of a game, or all players; `/players/NAME`: one player."""

from __future__ import annotations

from twisted.web import http

from playout.ratings.plot import rating_plot
from playout.server.storage.results import MatchFilter, page_of
from playout.server.web.http import HttpError, HttpRequest, HttpResponse
from playout.server.web.pages.source import PageSource
from playout.server.web.parameters import Parameters, parse_name

_PER_PAGE = 100
#: The number of matches on the page of a player.
_LATEST = 20


async def index(source: PageSource, request: HttpRequest) -> HttpResponse:
    """The ratings of a game, or the list of all players."""
    parameters = Parameters(request, ("game", "list", "page"))
    games = await source.archive.rated_games()
    list_all = parameters.choice("list", "rated", ("rated", "everybody")) == "everybody"
    if parameters.game is None and (list_all or not games):
        players = await source.archive.players(parameters.page, _PER_PAGE)
        return await source.render(
            "players.html", request.language, games=games, game="", players=players
        )
    game = parameters.game or games[0]
    leaderboard = await source.archive.ratings(game)
    rows = page_of(list(enumerate(leaderboard.entries, 1)), parameters.page, _PER_PAGE)
    return await source.render(
        "players.html",
        request.language,
        games=games,
        game=game,
        players=None,
        leaderboard=leaderboard,
        rows=rows,
    )


async def item(source: PageSource, request: HttpRequest) -> HttpResponse:
    """The page of one player, with ratings and matches."""
    name = parse_name("/".join(request.path))
    player = await source.archive.player(name)
    if player is None:
        text = f"No player has the name {name!r}. Guests have no page."
        raise HttpError(http.NOT_FOUND, text)
    match_filter = MatchFilter(player=player.name)
    rated = [each.game for each in player.games if each.versions]
    leaderboards = {game: await source.archive.ratings(game) for game in rated}
    return await source.render(
        "player.html",
        request.language,
        player=player,
        plots={
            each.game: rating_plot(
                (version.history for version in each.versions), request.language.told
            )
            for each in player.games
        },
        anchors={game: each.anchor[0] for game, each in leaderboards.items() if each.anchor},
        running=source.lookup.running(match_filter),
        ended=await source.archive.matches(match_filter, per_page=_LATEST),
    )
