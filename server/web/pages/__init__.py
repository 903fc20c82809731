"""The pages that people read: a file each, and here, under which address each is found."""

from __future__ import annotations

from server.hub import Hub
from server.web.answers import Handler
from server.web.archive import Archive
from server.web.finding import Finder
from server.web.pages.lobby import lobby
from server.web.pages.match import match
from server.web.site import only


def pages(hub: Hub, archive: Archive, finder: Finder) -> dict[str, Handler]:
    """By the first segment of their path; below "matches", say, is also each single one."""
    return {
        "": only(lobby(hub, archive)),
        "matches": match(finder, archive),
    }
