"""Finds matches: running ones in the hub, finished ones in the archive."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from functools import partial

from msgspec import structs
from twisted.internet.defer import Deferred, DeferredLock
from twisted.web import http

from playout.protocol.names import skeleton
from playout.server.core.hub import Hub
from playout.server.core.match_room import MatchRoom
from playout.server.export.replay import Contradiction
from playout.server.storage.results import (
    ALL,
    MatchFilter,
    MatchRow,
    ResultPage,
    linked,
    page_of,
    result_page,
)
from playout.server.web.archive import Archive
from playout.server.web.http import HttpError
from playout.server.web.match_data import MatchData, match_data, unstored_match_data
from playout.server.web.parameters import parse_id
from playout.server.web.worker_pool import WorkUnavailable

#: The most cached matches; a long one takes a megabyte.
_MAX_CACHED = 32


class MatchLookup:
    """Finds matches for pages and the API, with a cache of the last ones."""

    def __init__(
        self, hub: Hub, archive: Archive, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._hub = hub
        self._archive = archive
        self._now = now
        #: One is loaded at a time: a long one takes 0.1 s, and many requests may be for the same.
        self._loading = DeferredLock()
        self._cache: OrderedDict[str, MatchData] = OrderedDict()

    def running(
        self, match_filter: MatchFilter = ALL, page: int = 1, per_page: int = 50
    ) -> ResultPage[MatchRow]:
        """Running matches, the latest first."""
        game, tournament = match_filter.game, match_filter.tournament
        names = match_filter.player, match_filter.opponent
        skeletons = {skeleton(each) for each in names if each is not None}
        rooms_ = () if match_filter.is_about_the_end else self._hub.rooms.values()
        found = [
            room
            for room in rooms_
            if (game is None or str(room.match.game) == game)
            and skeletons <= {each.skeleton for each in room.seats}
            and (tournament is None or room.record.tournament == tournament)
        ]
        return _rows(found, page, per_page)

    def running_on_ladder(self, game: str, per_page: int) -> ResultPage[MatchRow]:
        """The running matches of the ladder of a game, the latest first."""
        rooms = self._hub.rooms.values()
        found = [each for each in rooms if each.record.ladder and str(each.match.game) == game]
        return _rows(found, 1, per_page)

    def data(self, match: str) -> Deferred[MatchData]:
        """The data of a match. Fails with HttpError, such as for an unknown id."""
        return Deferred.fromCoroutine(self._data(parse_id(match)))

    async def _data(self, match: str) -> MatchData:
        data = self._cached(match)
        if data is None:
            async with self._loading:
                data = self._cached(match) or await self._load(match)
        self._cache[match] = data
        self._cache.move_to_end(match)
        if len(self._cache) > _MAX_CACHED:
            self._cache.popitem(last=False)
        room = self._hub.rooms.get(match)
        if room is None or data.result:
            return data
        return structs.replace(data, clocks=room.match.clock_states(self._now()))

    def _cached(self, match: str) -> MatchData | None:
        """The cached data, unless the match has other moves by now or has ended."""
        data, room = self._cache.get(match), self._hub.rooms.get(match)
        if data is None or data.result:
            return data
        known = [each.action for each in data.positions[1:]]
        return data if room and known == room.match.moves else None

    async def _load(self, match: str) -> MatchData:
        room = self._hub.rooms.get(match)
        try:
            stored = await self._archive.match(match)
        except WorkUnavailable:
            if room is None:
                raise
            stored = None
        if stored:
            make: Callable[[], MatchData] = partial(match_data, stored)
        elif room:
            make = unstored_match_data(room)
        else:
            raise HttpError(http.NOT_FOUND, f"there is no match {match!r}")
        try:
            return await self._archive.run_in_thread(make)
        except Contradiction as error:
            text = f"match {match} cannot be shown: {error}"
            raise HttpError(http.NOT_FOUND, text) from error


def _rows(rooms: list[MatchRoom], page: int, per_page: int) -> ResultPage[MatchRow]:
    """A page of rooms as rows, the latest first."""
    shown = page_of(rooms[::-1], page, per_page)
    return result_page([_row(room) for room in shown.items], page, per_page, shown.total)


def _row(room: MatchRoom) -> MatchRow:
    started = room.record
    return MatchRow(
        match=started.match,
        game=started.game,
        players=started.players,
        linked=linked(started.accounts, started.rated),
        clock=started.clock,
        rated=started.rated,
        plies=room.match.ply,
        started_at=started.at,
        tournament=started.tournament,
    )
