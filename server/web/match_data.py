"""A match as its page and the API show it: every position, with the analysis of each move.

Running matches are found in the hub, finished ones in the archive.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw, Struct, structs
from twisted.internet.defer import Deferred
from twisted.web import http

from playout.games import Position
from playout.protocol.dice import numbers_of
from playout.protocol.messages import (
    Analysis,
    Board,
    ClockState,
    Mover,
    PositionView,
    Reason,
    Seat,
    TimeControl,
)
from playout.protocol.names import skeleton
from playout.protocol.time_control import parse_time_controls
from playout.server.core.hub import Hub
from playout.server.core.match import shown_plies
from playout.server.core.match_room import MatchRoom
from playout.server.core.view import DELAY_PLIES, best_actions, board_of, position_view_of
from playout.server.export.replay import Contradiction, replay
from playout.server.model.records import (
    MatchEnded,
    MatchStarted,
    MovePlayed,
    StoredMatch,
    converted,
    decoded_analysis,
    stored_analysis,
)
from playout.server.storage.results import (
    ALL,
    MatchFilter,
    MatchRow,
    ResultPage,
    linked,
    match_row,
    page_of,
    result_page,
)
from playout.server.web.archive import Archive
from playout.server.web.http import HttpError
from playout.server.web.parameters import parse_id
from playout.server.web.worker_pool import IterativeLock, WorkUnavailable

_encode = msgspec.json.Encoder().encode
_decode_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_pv = msgspec.json.Decoder(list[int]).decode

#: The candidates and the moves of the pv that are shown; bots send about fifty candidates a move.
#: With a net's policy there are more candidates, for the heat map on the board.
_CANDIDATES, _CANDIDATES_WITH_POLICY, _PV_MOVES = 5, 20, DELAY_PLIES
#: Maximum number of cached matches; a long one takes a megabyte.
_MAX_CACHED = 32


# These are the fields of records, in another form where a page needs it: the position is drawn, so
# that the analysis has no moves, and times are rounded, because more digits would double the size.


class PositionData(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The position after `ply` moves; the other fields belong to the move that led there.

    The player of a roll is 0.
    `info` is the analysis without its moves, which are in `view`. `at` is in seconds since 1970.
    """

    ply: int
    view: PositionView
    action: int | None = None
    player: Mover | None = None
    clocks: tuple[ClockState, ClockState] | None = None
    at: float | None = None
    info: Analysis | None = None


class MatchResult(Struct, frozen=True, kw_only=True):
    """How a match ended: winner 1 or 2, -1 for a tie, 0 for no result.

    `missing`: the player who never made a first move, if the match ended for that.
    """

    winner: int
    returns: tuple[float, float]
    reason: Reason
    text: str
    missing: Seat | None
    at: float


class RollData(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A roll that follows from the key of a match, and how to verify that.

    Its number is below `n`, and from `first` to `last`: see `playout.protocol.dice`. `ply` is that
    of the move, from 0, and leads to the position `ply` + 1. `luck` is that of player 1, in points.
    """

    ply: int
    n: int
    first: int
    last: int
    luck: float | None = None


class MatchData(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A match, from its first position to the last.

    `linked`: whether each player has a page. `bots`: the player specification of each bot that the
    server started. `withheld`: whether bots analyse the running match for nobody, because a player
    could gain by that. `delay`: the number of last moves that are missing until the end. `opening`:
    the number of moves made for the players. In a game with chance, `commitment` is the SHA-256 of
    the `key` of the `rolls`, which are there after the end, and `luck_awaited` says whether their
    luck is still to be measured.
    `to_move` is 0 when it is over; until then, `clocks` are the current ones. `time_controls` are
    those of both players if they differ, and `time_control` is that of the first.
    """

    match: str
    game: str
    players: tuple[str, str]
    linked: tuple[bool, bool]
    bots: tuple[str | None, str | None] | None = None
    clock: str
    time_control: TimeControl | None = None
    time_controls: tuple[TimeControl, TimeControl] | None = None
    clocks: tuple[ClockState, ClockState] | None = None
    rated: bool = False
    withheld: bool = False
    tournament: str | None = None
    delay: int = 0
    opening: int = 0
    commitment: str | None = None
    key: str | None = None
    rolls: tuple[RollData, ...] | None = None
    luck_awaited: bool = False
    started_at: float
    to_move: int
    board: Board
    positions: tuple[PositionData, ...]
    result: MatchResult | None = None


def match_data(stored: StoredMatch) -> MatchData:
    """A stored match read with `shortened`, without current clocks.

    Slow for many moves: a tenth of a second. Raises Contradiction if the moves do not fit the
    rules of the game.
    """
    stored = public(stored)
    replayed = replay(stored)
    return _data(stored.started, replayed.position, stored.moves, stored.ended)


def encoded(data: MatchData) -> bytes:
    """The data as JSON: a position at a time, so that other threads can run between them."""
    positions: Any = tuple(Raw(_encode(each)) for each in data.positions)
    return _encode(structs.replace(data, positions=positions))


def public(stored: StoredMatch) -> StoredMatch:
    """A stored match as everybody may read it.

    While it runs, its last analyses are missing, and as many of its last moves as its delay says.
    """
    if stored.ended:
        return stored
    moves, started = stored.moves, stored.started
    analysed = len(moves) - DELAY_PLIES
    shown = shown_plies([each.seat for each in moves], started.opening, started.delay)
    public_moves = (structs.replace(each, info=_past(each, analysed)) for each in moves[:shown])
    return structs.replace(stored, moves=tuple(public_moves))


def _past(move: MovePlayed, shown: int) -> str | None:
    """The analysis of one of the first `shown` moves, without the moves expected after them."""
    if move.info is None or move.ply >= shown:
        return None
    fields = _decode_fields(move.info)
    if pv := fields.get("pv"):
        fields["pv"] = Raw(_encode(_decode_pv(pv)[:DELAY_PLIES]))
    return _encode(fields).decode()


def unstored_match_data(room: MatchRoom) -> Callable[[], MatchData]:
    """A function that makes the data of a running match that is not stored: without times.

    It may be called in another thread while the match continues.
    """
    match, started = room.match, room.record
    position = match.position.at(room.shown_ply)
    moves = [
        MovePlayed(match=match.id, ply=ply, seat=match.mover(ply), action=action, at=0.0)
        for ply, action in enumerate(position.moves)
    ]
    return lambda: _data(started, position, moves, None)


def _data(
    started: MatchStarted,
    position: Position,
    moves: Sequence[MovePlayed],
    ended: MatchEnded | None,
) -> MatchData:
    controls, dice = parse_time_controls(started.clock), started.dice
    return converted(
        MatchData,
        started,
        linked=linked(started.accounts, started.rated),
        bots=started.bots if any(started.bots) else None,
        delay=0 if ended else started.delay,
        time_control=controls[0] if controls else None,
        time_controls=controls if controls and controls[0] != controls[1] else None,
        commitment=dice.commitment if dice else None,
        key=dice.key if dice and ended else None,
        started_at=started.at,
        to_move=0 if ended else position.to_move,
        board=board_of(position.game),
        positions=tuple(
            _position_data(position.at(ply), moves[ply - 1] if ply else None)
            for ply in range(position.ply + 1)
        ),
        result=ended and converted(MatchResult, ended),
        rolls=tuple(_rolls(position, started.opening, ended)) if dice and ended else None,
    )


def _rolls(position: Position, opening: int, ended: MatchEnded) -> Iterator[RollData]:
    game, lucks = position.game, iter(ended.luck_of_rolls or ())
    for ply in range(opening, position.ply):
        state = position.states[ply]
        if game.current_player(state) == 0:
            n, numbers = numbers_of(game, state, position.moves[ply])
            luck = next(lucks, None)
            yield RollData(ply=ply, n=n, first=numbers[0], last=numbers[-1], luck=luck)


def _position_data(position: Position, move: MovePlayed | None) -> PositionData:
    if move is None:
        return PositionData(ply=position.ply, view=position_view_of(position))
    info = move.analysis
    return PositionData(
        ply=position.ply,
        view=position_view_of(position, info),
        action=move.action,
        player=move.seat,
        clocks=move.clocks and _rounded(move.clocks),
        at=round(move.at, 3) if move.at else None,
        info=info and _numbers(info),
    )


def shortened(stored: str, action: int) -> str:
    """The part of a move's stored analysis that is shown, as JSON.

    Its maximum size is a twentieth of that of the whole.
    """
    info = decoded_analysis(stored)
    most = _CANDIDATES_WITH_POLICY if info.policy else _CANDIDATES
    candidates = best_actions(info, most, action)
    rounded = tuple((each, visits, round(win_rate, 4)) for each, visits, win_rate in candidates)
    kept = {each for each, _, _ in rounded}
    policy = tuple(each for each in info.policy if each[0] in kept)
    short = structs.replace(info, pv=info.pv[:_PV_MOVES], actions=rounded, policy=policy)
    return stored_analysis(short)


def _numbers(info: Analysis) -> Analysis:
    """The analysis without its moves."""
    win_rate, seconds = (each and round(each, 4) for each in (info.win_rate, info.seconds))
    return structs.replace(info, pv=(), actions=(), policy=(), win_rate=win_rate, seconds=seconds)


def _rounded(clocks: tuple[ClockState, ClockState]) -> tuple[ClockState, ClockState]:
    """The clocks in milliseconds."""
    first, second = (ClockState(round(each.main_s, 3), each.periods) for each in clocks)
    return first, second


class _LoadedMatch(NamedTuple):
    """The data of a match, and when its load began."""

    data: MatchData
    began_at: float


class MatchLookup:
    """Finds matches for pages and the API, with a cache of the last ones.

    Requests that wait for a load of a match share it if they came before it began, also when the
    match has other moves by then: a thousand come at once when a broadcast shows another match.
    """

    def __init__(
        self, hub: Hub, archive: Archive, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._hub = hub
        self._archive = archive
        self._now = now
        #: Loads one at a time: a long one takes 0.1 s, and many requests may be for the same one.
        self._loading = IterativeLock()
        self._cache: OrderedDict[str, _LoadedMatch] = OrderedDict()
        #: The ended matches of the cache whose luck is not stored yet: they are read again when it
        #: has been measured.
        self._unmeasured: set[str] = set()

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
        found = [each for each in rooms if each.record.ladder_pair and str(each.match.game) == game]
        return _rows(found, 1, per_page)

    def data(self, match: str) -> Deferred[MatchData]:
        """The data of a match. Fails with HttpError, such as for an unknown id."""
        return Deferred.fromCoroutine(self._data(parse_id(match)))

    async def _data(self, match: str) -> MatchData:
        asked_at = self._now()
        loaded = self._cached(match)
        if loaded:
            self._cache.move_to_end(match)
        else:
            async with self._loading:
                loaded = self._cached(match, asked_at)
                if loaded is None:
                    began_at = self._now()
                    loaded = _LoadedMatch(await self._load(match), began_at)
                    self._cache[match] = loaded  # before the next one gets the lock
                    self._cache.move_to_end(match)
                    if len(self._cache) > _MAX_CACHED:
                        removed, _ = self._cache.popitem(last=False)
                        self._unmeasured.discard(removed)
        data = loaded.data
        room = self._hub.rooms.get(match)
        if data.result and self._hub.awaits_luck(match):
            return structs.replace(data, luck_awaited=True)
        if room is None or data.result:
            return data
        clocks = room.shown_clocks(self._now())
        return structs.replace(data, clocks=clocks, withheld=room.is_withheld)

    def _cached(self, match: str, asked_at: float = math.inf) -> _LoadedMatch | None:
        """The cached data of a match, if they are current or their load began after `asked_at`.

        None if the match has ended since the load.
        """
        loaded, room = self._cache.get(match), self._hub.rooms.get(match)
        if loaded is None:
            return None
        if loaded.data.result:
            is_current = match not in self._unmeasured or self._hub.awaits_luck(match)
            return loaded if is_current else None
        if room is None:
            return None
        known = tuple(each.action for each in loaded.data.positions[1:])
        is_current = known == room.match.position.moves[: room.shown_ply]
        return loaded if is_current or loaded.began_at > asked_at else None

    async def _load(self, match: str) -> MatchData:
        room = self._hub.rooms.get(match)
        try:
            stored = await self._archive.match(match, shortened)
        except WorkUnavailable:
            if room is None:
                raise
            stored = None
        self._unmeasured.discard(match)
        if stored:
            if stored.started.dice_key and stored.ended and stored.ended.luck is None:
                self._unmeasured.add(match)
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
    return result_page(
        [match_row(room.record, room.shown_ply) for room in shown.items],
        page,
        per_page,
        shown.total,
    )
