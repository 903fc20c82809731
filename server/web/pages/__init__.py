"""The pages: a file for each kind, and their handlers by path."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from playout.server.core.hub import Hub
from playout.server.web.archive import Archive
from playout.server.web.http import Handler, HttpRequest, HttpResponse
from playout.server.web.match_data import MatchLookup
from playout.server.web.pages import (
    analysis,
    benchmarks,
    games,
    ladders,
    lobby,
    matches,
    organize,
    players,
    puzzles,
    tournaments,
)
from playout.server.web.pages.source import PageSource, page_handler, plain_page
from playout.server.web.site import exact_path, not_found


async def framed(source: PageSource, request: HttpRequest) -> HttpResponse:
    """The page of a match or a tournament, which only the operator's chosen sites may frame."""
    match request.path:
        case ("matches", match):
            return await matches.framed(source, request, match)
        case ("tournaments", tournament):
            return await tournaments.live(source, request, tournament, is_framed=True)
    return not_found(request)


def pages(
    hub: Hub,
    archive: Archive,
    lookup: MatchLookup,
    embed_on: tuple[str, ...] = (),
    reports: Mapping[str, Path] | None = None,
) -> dict[str, Handler]:
    """Handlers by the first segment of the path: "matches" handles `/matches` and `/matches/ID`.

    `embed_on`: the sites that may show matches and tournaments in a frame. `reports`: the folders
    of benchmarks.
    """
    source = PageSource(hub, archive, lookup, embed_on, reports or {})
    return {
        "": exact_path(page_handler(source, lobby.index)),
        "analysis": page_handler(source, analysis.index, analysis.item),
        "benchmarks": page_handler(source, benchmarks.report),
        "matches": page_handler(source, matches.index, matches.item),
        "players": page_handler(source, players.index, players.item),
        "tournaments": page_handler(source, tournaments.index, tournaments.item),
        "tournaments.atom": exact_path(page_handler(source, tournaments.feed)),
        "tournaments.ics": exact_path(page_handler(source, tournaments.calendar)),
        "ladders": page_handler(source, ladders.index, ladders.item),
        "embed": page_handler(source, framed),
        "seeks": page_handler(source, lobby.seek),
        # Pages without data: their scripts ask the server, which checks each request.
        "organize": exact_path(page_handler(source, organize.index)),
        "admin": exact_path(page_handler(source, plain_page("admin.html"))),
        "invite": exact_path(page_handler(source, plain_page("invite.html"))),
        "puzzles": page_handler(source, puzzles.index, puzzles.item),
        "games": page_handler(source, games.index, games.item),
    }
