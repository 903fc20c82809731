"""The pages: one file for each kind, and their handlers by path."""

from __future__ import annotations

from server.core.hub import Hub
from server.web.archive import Archive
from server.web.http import Handler
from server.web.match_lookup import MatchLookup
from server.web.pages import games, ladders, match, matches, players, tournaments
from server.web.pages.lobby import lobby
from server.web.pages.source import PageSource, index_or_item
from server.web.site import exact_path


def pages(hub: Hub, archive: Archive, lookup: MatchLookup) -> dict[str, Handler]:
    """Handlers by the first segment of their path, such as "matches" for `/matches/ID`, too."""
    source = PageSource(hub, archive, lookup)
    return {
        "": exact_path(lobby(hub, archive)),
        "matches": index_or_item(matches.index(source), match.item(source)),
        "players": index_or_item(players.index(source), players.item(source)),
        "tournaments": index_or_item(tournaments.index(source), tournaments.item(source)),
        "ladders": index_or_item(ladders.index(source), ladders.item(source)),
        "games": index_or_item(games.index(source), games.positions(source)),
    }
