"""The links to seeks: who opens one plays its match."""

from __future__ import annotations

from playout.server.web.http import HttpRequest, HttpResponse
from playout.server.web.pages.source import PageSource


async def item(source: PageSource, request: HttpRequest) -> HttpResponse:
    """The page of a link, whose script accepts the seek; it may be open later."""
    seek = source.hub.lobby.get("/".join(request.path))
    return await source.render("seek.html", request.language, seek=seek and seek.to_message())
