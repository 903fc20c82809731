"""`/matches/ID`: a match, live or finished; `/matches/ID.pgn`: the same as a file."""

from __future__ import annotations

from server.model.messages import Reason
from server.web.downloads import FORMATS, download
from server.web.http import Handler, HttpRequest, HttpResponse
from server.web.match_data import MatchData
from server.web.modules import modules
from server.web.pages.source import PageSource, page, shown


def item(source: PageSource) -> Handler:
    """The page of a match, and the files that it can be had as."""

    async def show(asked: HttpRequest) -> HttpResponse:
        name = "/".join(asked.path)
        if "." in name:
            return await download(source.archive, name)
        return _page(await source.finder.data(name))

    return shown(show)


def _page(data: MatchData) -> HttpResponse:
    return page(
        "match.html",
        match=data,
        status_text=_status_text(data),
        reason=data.result.text if data.result and data.result.reason != Reason.RULES else "",
        formats=_formats(data),
        modules=modules("match.js"),
    )


def _status_text(data: MatchData) -> str:
    """Whose turn it is, or how it ended."""
    if data.result is None:
        return f"{data.players[data.to_move - 1]} to move"
    if data.result.winner > 0:
        return f"{data.players[data.result.winner - 1]} won"
    return "A tie" if data.result.winner < 0 else "No result"


def _formats(data: MatchData) -> list[str]:
    """What it can most likely be had as: SGF knows only undivided grids."""
    is_grid = data.board.geometry == "grid" and not data.board.block
    return [each for each in FORMATS if each != "sgf" or is_grid]
