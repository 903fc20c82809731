"""Matches wherever they are: at a table, or in the archive."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from twisted.internet.defer import Deferred
from twisted.web import http

from server.export.replay import Contradiction
from server.hub import Hub
from server.names import skeleton
from server.storage.reading import MatchRow, Page, cut, linked, paged
from server.table import Table
from server.web.answers import Refused
from server.web.archive import Archive, Unavailable
from server.web.match_data import MatchData, match_data, unstored_match_data
from server.web.parameters import id_of


class Finder:
    """Finds matches, for pages and for the API."""

    def __init__(
        self, hub: Hub, archive: Archive, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._hub = hub
        self._archive = archive
        self._now = now

    def running(
        self,
        *,
        game: str | None = None,
        player: str | None = None,
        tournament: str | None = None,
        page: int = 1,
        per_page: int = 50,
    ) -> Page[MatchRow]:
        """Those that are being played, the latest first; as of `Archive.matches`."""
        likeness = None if player is None else skeleton(player)
        found = [
            table
            for table in self._hub.tables.values()
            if (game is None or str(table.match.game) == game)
            and (likeness is None or likeness in (each.likeness for each in table.seats))
            and (tournament is None or table.tournament == tournament)
        ]
        tables = cut(found[::-1], page, per_page)
        rows = [_row(table) for table in tables.items]
        return paged(rows, page, per_page, tables.total)

    def data(self, match: str) -> Deferred[MatchData]:
        """All of one. Fails with Refused, where there is none, or with Unavailable."""
        return Deferred.fromCoroutine(self._data(id_of(match)))

    async def _data(self, match: str) -> MatchData:
        table = self._hub.tables.get(match)
        try:
            kept = await self._archive.match(match)
        except Unavailable:
            if table is None:
                raise
            kept = None
        now = self._now()
        make: Callable[[], MatchData]
        if kept:
            clocks = table.match.readings(now) if table and kept.finished is None else None
            make = partial(match_data, kept, clocks)
        elif table:
            make = unstored_match_data(table, now)
        else:
            raise _no_match(match)
        try:
            return await self._archive.aside(make)
        except Contradiction as error:
            text = f"match {match} cannot be shown: {error}"
            raise Refused(http.NOT_FOUND, text) from error


def _no_match(match: str) -> Refused:
    return Refused(http.NOT_FOUND, f"there is no match {match!r}")


def _row(table: Table) -> MatchRow:
    begun = table.begun(table.begun_at)
    return MatchRow(
        match=begun.match,
        game=begun.game,
        players=begun.players,
        linked=linked(begun.accounts, begun.rated),
        clock=begun.clock,
        rated=begun.rated,
        plies=table.match.ply,
        begun_at=begun.at,
        tournament=begun.tournament,
    )
