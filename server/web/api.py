"""The JSON API below `/api`: `docs/api.md` describes its addresses and fields."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import msgspec
from msgspec import Struct, structs
from twisted.internet.defer import Deferred
from twisted.web import http

from playout.games import Description
from playout.protocol.messages import Level, Seeking
from playout.protocol.names import skeleton
from playout.ratings.leaderboard import (
    Leaderboard,
    LeaderboardEntry,
    OverallEntry,
    PlayerMeeting,
    PlayerVersion,
    RatingPoint,
)
from playout.server.core.hub import Hub
from playout.server.ladder.standings import LadderTable
from playout.server.model.offered_bots import for_game
from playout.server.model.records import converted
from playout.server.runtime.game_compilation import described_games
from playout.server.storage.results import (
    MatchFilter,
    MatchRow,
    PlayerRow,
    ResultPage,
    TournamentRow,
    page_of,
)
from playout.server.tournament.report import Report
from playout.server.web.archive import Archive, PlayerRecord
from playout.server.web.http import (
    ANY_ORIGIN,
    JSON,
    HttpError,
    HttpRequest,
    HttpResponse,
    cacheable_response,
)
from playout.server.web.match_data import MatchData, MatchLookup, encoded
from playout.server.web.pages.source import MatchResponses
from playout.server.web.parameters import Parameters, parse_game, parse_id, parse_name

_encode = msgspec.json.Encoder().encode


class Ranking(Struct, frozen=True, kw_only=True):
    """A page of the rated players of a game, the anchor of their ratings, and who met whom.

    `meetings` are those whose better player is on this page.
    """

    items: tuple[LeaderboardEntry, ...]
    page: int
    pages: int
    total: int
    game: str
    scale: str
    matches: int
    anchor: tuple[str, str] | None
    anchor_rating: float | None
    first_move: float | None
    first_move_error: float | None
    meetings: tuple[PlayerMeeting, ...]


class TournamentResponse(Struct, frozen=True, kw_only=True):
    """A tournament and the report of its matches so far. Times are in seconds since 1970."""

    tournament: str
    started_at: float
    ended_at: float | None
    clock: str
    reporter: str | None
    report: Report


class LadderSummary(Struct, frozen=True, kw_only=True):
    """A ladder in a list; `present` is the number of versions that are connected or play."""

    game: str
    clock: str
    versions: int
    present: int
    matches: int
    playing: int


class BotResponse(Struct, frozen=True, kw_only=True):
    """A bot of the server as it plays a game, and its rating there; None if it has none.

    `anchor` are the name and version that have 1500 on the scale of the rating.
    """

    name: str
    player: str
    level: Level | None
    move_s: float | None
    rating: LeaderboardEntry | None
    anchor: PlayerVersion | None


class LadderVersionHistory(Struct, frozen=True, kw_only=True):
    """The ratings of a version on a ladder over time, the oldest first."""

    version: str
    history: tuple[RatingPoint, ...]


class LadderPlayerHistory(Struct, frozen=True, kw_only=True):
    """The ratings of a player on a ladder over time, by version; the first version first."""

    game: str
    name: str
    versions: tuple[LadderVersionHistory, ...]


_List = Callable[[HttpRequest], Awaitable[object]]
_Item = Callable[[str], Awaitable[object]]


class Api:
    """Responds to the requests below `/api`."""

    def __init__(self, hub: Hub, archive: Archive, lookup: MatchLookup) -> None:
        self._hub = hub
        self._archive = archive
        self._lookup = lookup
        #: Matches that many clients ask for.
        self._responses = MatchResponses()
        #: The functions for the list and for one item of each collection.
        self._routes: dict[str, tuple[_List, _Item | None]] = {
            "matches": (self._matches, self._match),
            "players": (self._players, self._player),
            "tournaments": (self._tournaments, self._tournament),
            "ladders": (self._ladders, self._ladder),
            "games": (self._games, None),
            "bots": (self._bots, None),
            "seeks": (self._seeks, None),
        }

    def __call__(self, request: HttpRequest) -> Deferred[HttpResponse]:
        """The response in JSON. Fails with HttpError."""
        return Deferred.fromCoroutine(self._respond(request))

    async def _respond(self, request: HttpRequest) -> HttpResponse:
        data = await self._data(request)
        if isinstance(data, MatchData):
            match = data
            return await self._responses.get(match, lambda: self._made(lambda: encoded(match)))
        return await self._made(lambda: _encode(data))

    def _made(self, encode: Callable[[], bytes]) -> Deferred[HttpResponse]:
        """The response with encoded data, made in a thread: that of a long match takes 50 ms."""
        return self._archive.run_in_thread(
            lambda: cacheable_response(encode(), JSON, headers=ANY_ORIGIN)
        )

    async def _data(self, request: HttpRequest) -> object:
        index, item = self._routes.get(request.path[0] if request.path else "", (None, None))
        match request.path:
            case (_,) if index:
                return await index(request)
            case (_, which) if item and which:
                Parameters(request, ())
                return await item(which)
            case ("ladders", game, "players", name) if game and name:
                Parameters(request, ())
                return await self._ladder_player(game, name)
        addresses = ", ".join(f"/api/{name}" for name in self._routes)
        raise HttpError(http.NOT_FOUND, f"no such address; the lists are {addresses}")

    async def _matches(self, request: HttpRequest) -> ResultPage[MatchRow]:
        parameters = Parameters(request, (*MatchFilter._fields, "state", "page", "per_page"))
        selection = parameters.match_filter, parameters.page, parameters.per_page
        if parameters.choice("state", "finished", ("finished", "running")) == "running":
            return self._lookup.running(*selection)
        return await self._archive.matches(*selection)

    async def _match(self, match: str) -> MatchData:
        return await self._lookup.data(match)

    async def _players(
        self, request: HttpRequest
    ) -> ResultPage[PlayerRow] | ResultPage[OverallEntry] | Ranking:
        names = ("game", "clocks", "reporter", "list", "page", "per_page")
        parameters = Parameters(request, names)
        page, per_page = parameters.page, parameters.per_page
        if parameters.choice("list", "everybody", ("everybody", "over_games")) == "over_games":
            return page_of(await self._archive.over_games() or [], page, per_page)
        if parameters.game is None:
            return await self._archive.players(page, per_page)
        scale, reporter = parameters.clocks, parameters.reporter
        leaderboard = await self._archive.ratings(parameters.game, scale, reporter)
        entries = page_of(leaderboard.entries, page, per_page)
        shown = range(per_page * (page - 1), per_page * page)
        meetings = tuple(each for each in leaderboard.meetings if each.one in shown)
        return converted(Ranking, leaderboard, **structs.asdict(entries), meetings=meetings)

    async def _player(self, name: str) -> PlayerRecord:
        player = await self._archive.player(parse_name(name))
        if player is None:
            raise HttpError(http.NOT_FOUND, f"no player {name!r} has an account or stored matches")
        return player

    async def _tournaments(self, request: HttpRequest) -> ResultPage[TournamentRow]:
        parameters = Parameters(request, ("page", "per_page"))
        return await self._archive.tournaments(parameters.page, parameters.per_page)

    async def _tournament(self, tournament: str) -> TournamentResponse:
        record = await self._archive.tournament(parse_id(tournament))
        if record is None:
            raise HttpError(http.NOT_FOUND, f"there is no tournament {tournament!r}")
        return converted(TournamentResponse, record, clock=record.spec.clock)

    async def _ladders(self, request: HttpRequest) -> ResultPage[LadderSummary]:
        parameters = Parameters(request, ("page", "per_page"))
        ladders = [
            converted(
                LadderSummary,
                each,
                versions=len(each.standings),
                present=sum(row.present for row in each.standings),
            )
            for each in self._hub.ladders.tables(time.time())
        ]
        return page_of(ladders, parameters.page, parameters.per_page)

    async def _ladder(self, game: str) -> LadderTable:
        table = self._hub.ladders.table(parse_game(game), time.time())
        if table is None:
            raise HttpError(http.NOT_FOUND, f"there is no ladder of {game!r} here")
        return table

    async def _ladder_player(self, game: str, name: str) -> LadderPlayerHistory:
        table, wanted = await self._ladder(game), skeleton(parse_name(name))
        found = await self._archive.ladder_history(table.game, name)
        names = (each.name for each in table.standings if skeleton(each.name) == wanted)
        known = next(names, None)
        if known is None:
            raise HttpError(http.NOT_FOUND, f"no {name!r} has entered the ladder of {game!r}")
        return LadderPlayerHistory(
            game=table.game,
            name=known,
            versions=tuple(
                LadderVersionHistory(version=version, history=points)
                for version, points in found.items()
            ),
        )

    async def _games(self, request: HttpRequest) -> ResultPage[Description]:
        parameters = Parameters(request, ("page", "per_page"))
        descriptions, _ = await self._archive.run_in_thread(described_games)
        return page_of(descriptions, parameters.page, parameters.per_page)

    async def _bots(self, request: HttpRequest) -> ResultPage[BotResponse]:
        parameters = Parameters(request, ("game", "page", "per_page"))
        game, leaderboard = parameters.game, Leaderboard(game="")
        offered = self._hub.bots.offered
        if game is not None:
            offered = tuple(for_game(bot, game) for bot in offered)
            leaderboard = await self._archive.ratings(game)
        rated = leaderboard.ratings()
        ratings = [rated.get((bot.name, bot.player)) for bot in offered]
        bots = [
            converted(BotResponse, bot, rating=rating, anchor=rating and leaderboard.anchor)
            for bot, rating in zip(offered, ratings, strict=True)
        ]
        return page_of(bots, parameters.page, parameters.per_page)

    async def _seeks(self, request: HttpRequest) -> ResultPage[Seeking]:
        parameters = Parameters(request, ("page", "per_page"))
        seeks = [seek.to_message() for seek in self._hub.lobby]
        return page_of(seeks, parameters.page, parameters.per_page)
