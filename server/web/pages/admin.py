"""The pages of administration and of invitations: their scripts ask the server for everything."""

from __future__ import annotations

from playout.server.web.http import HttpRequest, HttpResponse
from playout.server.web.pages.source import PageSource


async def index(source: PageSource, request: HttpRequest) -> HttpResponse:
    """The page for administrators, without data: the server checks each request of its script."""
    return await source.render("admin.html", request.language)


async def invitation(source: PageSource, request: HttpRequest) -> HttpResponse:
    """The page of a link with a name and its token, which browsers do not send."""
    return await source.render("invite.html", request.language)
