"""A match for a frame of another site: its board, names and clocks."""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from playout.server.web.http import HttpRequest, HttpResponse
from playout.server.web.pages.source import PageSource, render_page
from playout.server.web.site import content_policy, not_found
from playout.server.web.templates import modules


async def item(source: PageSource, request: HttpRequest) -> HttpResponse:
    """The page of a match, which only the operator's chosen sites may frame."""
    if len(request.path) != 2 or request.path[0] != "matches":
        return not_found(request)
    data = await source.lookup.data(request.path[1])
    shown = structs.replace(data, positions=data.positions[-1:])
    language, policy = request.language, content_policy(source.embed_on)

    def respond() -> HttpResponse:
        page = render_page("embed.html", language, match=shown, modules=modules("embed.js"))
        return replace(page, headers={**page.headers, **policy})

    return await source.frames.get(data, lambda: source.archive.run_in_thread(respond), language)
