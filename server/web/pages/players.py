"""`/players`: the ratings of a game, or a list of players; `/players/NAME`: one player."""

from __future__ import annotations

from twisted.web import http

from playout.ratings.leaderboard import PlayerMeeting
from playout.ratings.plot import rating_plot
from playout.server.storage.results import MatchFilter, page_of
from playout.server.web.http import HttpError, HttpRequest, HttpResponse
from playout.server.web.pages.source import PageSource
from playout.server.web.parameters import Parameters, parse_name

_PER_PAGE = 100
#: The versions in the crosstable, the first ones of a page.
_CROSSED = 20
#: The number of matches on the page of a player.
_LATEST = 20


async def index(source: PageSource, request: HttpRequest) -> HttpResponse:
    """The ratings of a game, or the list of all players."""
    parameters = Parameters(request, ("game", "clocks", "reporter", "list", "page"))
    archive, page = source.archive, parameters.page
    games = await archive.rated_games()
    listed = parameters.choice("list", "rated", ("rated", "over_games", "everybody"))
    if parameters.game is None and (listed != "rated" or not games):
        is_overall = listed == "over_games"
        overall = page_of(await archive.over_games() or [], page, _PER_PAGE) if is_overall else None
        return await source.render(
            "players.html",
            request.language,
            games=games,
            game="",
            overall=overall,
            players=None if is_overall else await archive.players(page, _PER_PAGE),
        )
    game, reporter = parameters.game or games[0], parameters.reporter
    leaderboard = await archive.ratings(game, parameters.clocks, reporter)
    rows = page_of(list(enumerate(leaderboard.entries, 1)), page, _PER_PAGE)
    return await source.render(
        "players.html",
        request.language,
        games=games,
        game=game,
        overall=None,
        players=None,
        scales=await archive.scales(game),
        clocks=parameters.clocks,
        reporter=reporter,
        leaderboard=leaderboard,
        rows=rows,
        crossed=rows.items[:_CROSSED],
        cells={key: cell for each in leaderboard.meetings for key, cell in cells(each)},
    )


def cells(met: PlayerMeeting) -> list[tuple[tuple[int, int], str]]:
    """The two cells of a crosstable by their places: the points, and the number of matches."""
    matches = met.won + met.tied + met.lost
    return [
        ((met.one, met.other), f"{met.won + met.tied / 2:g}/{matches}"),
        ((met.other, met.one), f"{met.lost + met.tied / 2:g}/{matches}"),
    ]


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
