"""The pages that people read: a file each, and here, under which address each is found."""

from __future__ import annotations

from server.core.hub import Hub
from server.web.archive import Archive
from server.web.http import Handler
from server.web.match_lookup import MatchLookup
from server.web.pages import games, match, matches, players, tournaments
from server.web.pages.lobby import lobby
from server.web.pages.source import PageSource, either
from server.web.site import only


def pages(hub: Hub, archive: Archive, finder: MatchLookup) -> dict[str, Handler]:
    """By the first segment of their path; below "matches", say, is also each single one."""
    source = PageSource(hub, archive, finder)
    return {
        "": only(lobby(hub, archive)),
        "matches": either(matches.index(source), match.item(source)),
        "players": either(players.index(source), players.item(source)),
        "tournaments": either(tournaments.index(source), tournaments.item(source)),
        "games": only(games.index(source)),
    }
