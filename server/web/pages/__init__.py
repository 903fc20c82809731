"""The pages: a file for each kind, and their handlers by path."""

from __future__ import annotations

from playout.server.core.hub import Hub
from playout.server.web.archive import Archive
from playout.server.web.http import Handler
from playout.server.web.match_data import MatchLookup
from playout.server.web.pages import games, ladders, matches, players, tournaments
from playout.server.web.pages.lobby import lobby
from playout.server.web.pages.source import PageSource, index_or_item
from playout.server.web.site import exact_path


def pages(hub: Hub, archive: Archive, lookup: MatchLookup) -> dict[str, Handler]:
    """Handlers by the first segment of the path: "matches" handles `/matches` and `/matches/ID`."""
    source = PageSource(hub, archive, lookup)
    return {
        "": exact_path(lobby(hub, archive)),
        "matches": index_or_item(matches.index(source), matches.item(source)),
        "players": index_or_item(players.index(source), players.item(source)),
        "tournaments": index_or_item(tournaments.index(source), tournaments.item(source)),
        "ladders": index_or_item(ladders.index(source), ladders.item(source)),
        "games": index_or_item(games.index(source), games.positions(source)),
    }
