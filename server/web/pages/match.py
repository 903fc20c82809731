"""`/matches/ID`: a match, live or finished; `/matches/ID.pgn`: the same as a file."""

from __future__ import annotations

import msgspec
from markupsafe import Markup

from server.export.text import utc
from server.messages import Reason
from server.web.answers import HTML, Answer, Asked, Handler
from server.web.archive import Archive
from server.web.downloads import FORMATS, download
from server.web.finding import Finder
from server.web.match_data import MatchData
from server.web.modules import modules
from server.web.pages.source import shown
from server.web.templates import render


def match(finder: Finder, archive: Archive) -> Handler:
    """The page of a match, and the files that it can be had as."""

    async def answer(asked: Asked) -> Answer:
        name = "/".join(asked.path)
        if "." in name:
            return await download(archive, name)
        return _page(await finder.data(name))

    return shown(answer)


def _page(data: MatchData) -> Answer:
    body = render(
        "match.html",
        match=data,
        begun=utc(data.begun_at),
        standing=_standing(data),
        reason=data.result.text if data.result and data.result.reason != Reason.RULES else "",
        formats=_formats(data),
        modules=modules("match.js"),
        data=embedded(data),
    )
    return Answer(body, kind=HTML)


def _standing(data: MatchData) -> str:
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


def embedded(data: object) -> Markup:
    """JSON for a `<script>` of a page: nothing in it can be taken for the element's end."""
    return Markup(msgspec.json.encode(data).decode().replace("<", "\\u003c"))
