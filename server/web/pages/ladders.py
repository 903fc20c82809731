"""`/ladders`: the ladders; `/ladders/GAME`: one, with its standings and its crosstable."""

from __future__ import annotations

import time

from markupsafe import Markup
from twisted.web import http

from playout.ratings.bradley_terry import AVERAGE, SURE
from playout.ratings.plot import COLOURS, rating_plot
from playout.server.ladder.standings import LadderStanding
from playout.server.storage.results import page_of
from playout.server.tournament.report.charts import RatingRow, rating_rows
from playout.server.tournament.report.values import Estimate
from playout.server.web.http import HttpError, HttpRequest, HttpResponse
from playout.server.web.pages.players import cells
from playout.server.web.pages.source import PageSource
from playout.server.web.parameters import Parameters, parse_game
from playout.server.web.texts import Language

_PER_PAGE = 100
#: The versions in the chart and in the crosstable, the first ones of a page.
_CHARTED, _CROSSED = 30, 20
#: The number of running matches on the page.
_BOARDS = 8
_PARTS = {"page": "ladder.html", "ladder": "ladder_sections.html"}


async def index(source: PageSource, request: HttpRequest) -> HttpResponse:
    """The list of all ladders."""
    Parameters(request, ())
    return await source.render(
        "ladders.html", request.language, ladders=source.hub.ladders.tables(time.time())
    )


async def item(source: PageSource, request: HttpRequest) -> HttpResponse:
    """A ladder: its page or, for `?part=`, the sections that change.

    Its ratings were computed when its matches ended.
    """
    game = parse_game("/".join(request.path))
    parameters = Parameters(request, ("page", "player", "part"))
    part = parameters.choice("part", "page", _PARTS)
    page, player, language = parameters.page, parameters.player, request.language
    # With the news in the key, a page that was sent news is never shown an older state.
    key = source.hub.ladder_feed.news(game), part, page, player, language.code
    return await source.responses.get(
        key, lambda: _item(source, game, part, page, player, language)
    )


async def _item(
    source: PageSource, game: str, part: str, page: int, player: str | None, language: Language
) -> HttpResponse:
    table = source.hub.ladders.table(game, time.time())
    if table is None:
        raise HttpError(http.NOT_FOUND, f"This server has no ladder of {game}.")
    numbered = list(enumerate(table.standings))
    rows = page_of(numbered, page, _PER_PAGE)
    player = player or next((each.name for each in table.standings), "")
    history = await source.archive.ladder_history(game, player) if player else {}
    crossed = [number for number, _ in rows.items[:_CROSSED]]
    return await source.render(
        _PARTS[part],
        language,
        table=table,
        running=source.lookup.running_on_ladder(game, per_page=_BOARDS),
        rows=rows,
        chart=_chart([row for _, row in rows.items], language),
        crossed=crossed,
        numbers=[f"={number + 1}" for number in crossed],
        cells={key: cell for each in table.meetings for key, cell in cells(each)},
        rated=(await source.archive.ratings(game)).ratings(),
        player=player,
        history=history,
        plot=rating_plot(history.values(), language.told),
        names=list(dict.fromkeys(row.name for _, row in rows.items))[:_CHARTED],
        sure=SURE,
        colours=COLOURS,
    )


def _chart(rows: list[LadderStanding], language: Language) -> Markup:
    # All names in it are escaped.
    return Markup(
        rating_rows(
            [
                RatingRow(
                    f"{each.name} {each.version}",
                    f"{each.rating:.0f} ± {each.error:.0f}",
                    Estimate(value=each.rating, error=each.error),
                )
                for each in rows[:_CHARTED]
                if each.error is not None
            ],
            origin=AVERAGE,
            tell=language.told,
        )
    )
