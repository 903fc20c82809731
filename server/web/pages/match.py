"""`/matches/ID`: a match, running or finished; `/matches/ID.pgn`: the same as a file.

`/matches/ID/positions.json?ply=12&moves=3,5`: positions after moves that somebody tries.
"""

from __future__ import annotations

import msgspec

import games
from server.core.policy import Policy
from server.core.view import drawn
from server.export import sgf
from server.model.messages import Reason
from server.model.offered_bots import by_strength
from server.web.continuation import MAX_MOVES, continuation
from server.web.downloads import FORMATS, download
from server.web.http import JSON, Handler, HttpRequest, HttpResponse, cacheable_response
from server.web.match_data import MatchData
from server.web.modules import modules
from server.web.pages.source import PageSource, async_handler, render_page
from server.web.parameters import Parameters


def item(source: PageSource) -> Handler:
    """The handler of the page of a match and of its files."""

    async def respond(request: HttpRequest) -> HttpResponse:
        if len(request.path) == 2 and request.path[1] == "positions.json":
            return await _positions(source, request)
        name = "/".join(request.path)
        if "." in name:
            return await download(source.archive, name)
        return _page(await source.lookup.data(name), source.hub.policy)

    return async_handler(respond)


async def _positions(source: PageSource, request: HttpRequest) -> HttpResponse:
    """The positions after moves that somebody tries."""
    parameters = Parameters(request, ("ply", "moves"))
    match = await source.lookup.data(request.path[0])
    last = len(match.positions) - 1
    ply, moves = (
        parameters.number("ply", last, last, least=0),
        parameters.actions("moves", MAX_MOVES),
    )
    found = await source.archive.run_in_thread(lambda: continuation(match, ply, moves))
    return cacheable_response(msgspec.json.encode(found), JSON, {})


def _page(data: MatchData, policy: Policy) -> HttpResponse:
    return render_page(
        "match.html",
        match=data,
        status_text=_status_text(data),
        reason=data.result.text if data.result and data.result.reason != Reason.RULES else "",
        formats=_formats(data) if policy.stored else [],
        text=drawn(data.board, data.positions[-1].view),
        modules=modules("match.js"),
        analysts=[bot.name for bot in by_strength(policy.offered)] if policy.analyses else [],
        analysis_s=policy.analysis_s,
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
