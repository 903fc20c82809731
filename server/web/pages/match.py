"""`/matches/ID`: a match, running or finished; `/matches/ID.pgn`: the same as a file."""

from __future__ import annotations

import games
from games.core.view import BoardView, draw
from server.export import sgf
from server.model.messages import Reason
from server.web.downloads import FORMATS, download
from server.web.http import Handler, HttpRequest, HttpResponse
from server.web.match_data import MatchData
from server.web.modules import modules
from server.web.pages.source import PageSource, async_handler, render_page


def item(source: PageSource) -> Handler:
    """The handler of the page of a match and of its files."""

    async def respond(request: HttpRequest) -> HttpResponse:
        name = "/".join(request.path)
        if "." in name:
            return await download(source.archive, name)
        return _page(await source.lookup.data(name))

    return async_handler(respond)


def _page(data: MatchData) -> HttpResponse:
    return render_page(
        "match.html",
        match=data,
        status_text=_status_text(data),
        reason=data.result.text if data.result and data.result.reason != Reason.RULES else "",
        formats=_formats(data),
        text=_last_position(data),
        modules=modules("match.js"),
    )


def _last_position(data: MatchData) -> str:
    """The last position as text, for browsers without scripts."""
    board, view = data.board, data.positions[-1].view
    return draw(
        BoardView(
            board.rows,
            board.columns,
            view.cells,
            geometry=board.geometry,
            piece=board.piece,
            kinds=view.kinds,
            counts=view.counts,
            cell_labels=board.cell_labels,
            block=board.block,
            edges=board.edges,
            note=view.note,
            text=view.text,
            column_names=board.column_labels,
            row_names=board.row_labels,
        )
    )


def _status_text(data: MatchData) -> str:
    """The player to move, or the result."""
    if data.result is None:
        return f"{data.players[data.to_move - 1]} to move"
    if data.result.winner > 0:
        return f"{data.players[data.result.winner - 1]} won"
    return "A tie" if data.result.winner < 0 else "No result"


def _formats(data: MatchData) -> list[str]:
    """The suffixes of the files that are offered: SGF is only for games of placing stones."""
    return [each for each in FORMATS if each != "sgf" or sgf.suits(games.load(data.game))]
