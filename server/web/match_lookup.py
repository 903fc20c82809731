"""Matches wherever they are: at a table, or in the archive."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from functools import partial

from msgspec import structs
from twisted.internet.defer import Deferred, DeferredLock
from twisted.web import http

from server.core.hub import Hub
from server.core.match_room import MatchRoom
from server.export.replay import Contradiction
from server.model.names import skeleton
from server.storage.results import (
    ALL,
    MatchFilter,
    MatchRow,
    ResultPage,
    linked,
    page_of,
    result_page,
)
from server.web.archive import Archive
from server.web.http import HttpError
from server.web.match_data import MatchData, match_data, unstored_match_data
from server.web.parameters import id_of
from server.web.worker_pool import WorkUnavailable

#: Matches that were looked at last, of which a long one takes a megabyte.
_KNOWN = 32


class MatchLookup:
    """Finds matches, for pages and for the API."""

    def __init__(
        self, hub: Hub, archive: Archive, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._hub = hub
        self._archive = archive
        self._now = now
        #: One is made at a time, which takes a tenth of a second if it is long; many may want it.
        self._making = DeferredLock()
        self._known: OrderedDict[str, MatchData] = OrderedDict()

    def running(
        self, chosen: MatchFilter = ALL, page: int = 1, per_page: int = 50
    ) -> ResultPage[MatchRow]:
        """Those that are being played, the latest first."""
        game, player, opponent, tournament = chosen
        likenesses = {skeleton(each) for each in (player, opponent) if each is not None}
        found = [
            table
            for table in self._hub.rooms.values()
            if (game is None or str(table.match.game) == game)
            and likenesses <= {each.skeleton for each in table.seats}
            and (tournament is None or table.tournament == tournament)
        ]
        tables = page_of(found[::-1], page, per_page)
        rows = [_row(table) for table in tables.items]
        return result_page(rows, page, per_page, tables.total)

    def data(self, match: str) -> Deferred[MatchData]:
        """All of one. Fails with Refused, as where there is none."""
        return Deferred.fromCoroutine(self._data(id_of(match)))

    async def _data(self, match: str) -> MatchData:
        data = self._remembered(match)
        if data is None:
            async with self._making:
                data = self._remembered(match) or await self._made(match)
        self._known[match] = data
        self._known.move_to_end(match)
        if len(self._known) > _KNOWN:
            self._known.popitem(last=False)
        table = self._hub.rooms.get(match)
        if table is None or data.result:
            return data
        return structs.replace(data, clocks=table.match.clock_states(self._now()))

    def _remembered(self, match: str) -> MatchData | None:
        """Unless it is older than what there is at the table."""
        data, table = self._known.get(match), self._hub.rooms.get(match)
        if data is None or data.result:
            return data
        return data if table and len(data.positions) > table.match.ply else None

    async def _made(self, match: str) -> MatchData:
        table = self._hub.rooms.get(match)
        try:
            kept = await self._archive.match(match)
        except WorkUnavailable:
            if table is None:
                raise
            kept = None
        if kept:
            make: Callable[[], MatchData] = partial(match_data, kept)
        elif table:
            make = unstored_match_data(table)
        else:
            raise HttpError(http.NOT_FOUND, f"there is no match {match!r}")
        try:
            return await self._archive.aside(make)
        except Contradiction as error:
            text = f"match {match} cannot be shown: {error}"
            raise HttpError(http.NOT_FOUND, text) from error


def _row(room: MatchRoom) -> MatchRow:
    begun = room.started_record(room.begun_at)
    return MatchRow(
        match=begun.match,
        game=begun.game,
        players=begun.players,
        linked=linked(begun.accounts, begun.rated),
        clock=begun.clock,
        rated=begun.rated,
        plies=room.match.ply,
        begun_at=begun.at,
        tournament=begun.tournament,
    )
