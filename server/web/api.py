"""What is here as JSON, for people's own programs: `docs/api.md` says what can be asked."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable

import msgspec
from msgspec import Struct, structs
from twisted.internet.defer import Deferred
from twisted.web import http

import games
from games import Description
from server.core.hub import Hub
from server.model.messages import Seeking
from server.storage.results import (
    MatchFilter,
    MatchRow,
    PlayerRow,
    ResultPage,
    TournamentRow,
    page_of,
)
from server.tournament.leaderboard import LeaderboardEntry
from server.tournament.report import Report
from server.web.archive import Archive, PlayerRecord
from server.web.http import JSON, HttpError, HttpRequest, HttpResponse, revalidated
from server.web.match_data import MatchData
from server.web.match_lookup import MatchLookup
from server.web.parameters import Parameters, id_of, name_of

#: What is public may be read by the pages of others.
_FROM_ANYWHERE = {"Access-Control-Allow-Origin": "*"}

_encode = msgspec.json.Encoder().encode


class Ranking(Struct, frozen=True, kw_only=True):
    """A page of those who are rated in a game, and what their ratings are relative to."""

    items: tuple[LeaderboardEntry, ...]
    page: int
    pages: int
    total: int
    game: str
    matches: int
    anchor: tuple[str, str] | None
    first_move: float | None
    first_move_error: float | None


class TournamentAnswer(Struct, frozen=True, kw_only=True):
    """A tournament and what it has shown so far."""

    tournament: str
    begun_at: float
    ended_at: float | None
    clock: str
    report: Report


_List = Callable[[HttpRequest], Awaitable[object]]
_One = Callable[[str], Awaitable[object]]


class Api:
    """Answers what is below `/api`."""

    def __init__(self, hub: Hub, archive: Archive, finder: MatchLookup) -> None:
        self._hub = hub
        self._archive = archive
        self._finder = finder
        #: For each kind of thing what lists all, and what tells of one.
        self._routes: dict[str, tuple[_List, _One | None]] = {
            "matches": (self._matches, self._match),
            "players": (self._players, self._player),
            "tournaments": (self._tournaments, self._tournament),
            "games": (self._games, None),
            "seeks": (self._seeks, None),
        }

    def __call__(self, asked: HttpRequest) -> Deferred[HttpResponse]:
        """The answer to a request. Fails with Refused."""
        return Deferred.fromCoroutine(self._answer(asked))

    async def _answer(self, asked: HttpRequest) -> HttpResponse:
        return revalidated(_encode(await self._found(asked)), JSON, _FROM_ANYWHERE)

    async def _found(self, asked: HttpRequest) -> object:
        all_, one = self._routes.get(asked.path[0] if asked.path else "", (None, None))
        match asked.path:
            case (_,) if all_:
                return await all_(asked)
            case (_, which) if one and which:
                Parameters(asked, ())
                return await one(which)
        there = ", ".join(f"/api/{name}" for name in self._routes)
        raise HttpError(http.NOT_FOUND, f"there is nothing here; see {there}")

    async def _matches(self, asked: HttpRequest) -> ResultPage[MatchRow]:
        given = Parameters(asked, (*MatchFilter._fields, "state", "page", "per_page"))
        chosen = given.matches, given.page, given.per_page
        if given.choice("state", "finished", ("finished", "running")) == "running":
            return self._finder.running(*chosen)
        return await self._archive.matches(*chosen)

    async def _match(self, match: str) -> MatchData:
        return await self._finder.data(match)

    async def _players(self, asked: HttpRequest) -> ResultPage[PlayerRow] | Ranking:
        given = Parameters(asked, ("game", "page", "per_page"))
        page, per_page = given.page, given.per_page
        if given.game is None:
            return await self._archive.players(page, per_page)
        ladder = await self._archive.ratings(given.game)
        listed = page_of(ladder.entries, page, per_page)
        return Ranking(
            **structs.asdict(listed),
            game=ladder.game,
            matches=ladder.matches,
            anchor=ladder.anchor,
            first_move=ladder.first_move,
            first_move_error=ladder.first_move_error,
        )

    async def _player(self, name: str) -> PlayerRecord:
        found = await self._archive.player(name_of(name))
        if found is None:
            raise HttpError(http.NOT_FOUND, f"there is no player {name!r} with an account")
        return found

    async def _tournaments(self, asked: HttpRequest) -> ResultPage[TournamentRow]:
        given = Parameters(asked, ("page", "per_page"))
        return await self._archive.tournaments(given.page, given.per_page)

    async def _tournament(self, tournament: str) -> TournamentAnswer:
        found = await self._archive.tournament(id_of(tournament))
        if found is None:
            raise HttpError(http.NOT_FOUND, f"there is no tournament {tournament!r}")
        return TournamentAnswer(
            tournament=found.tournament,
            begun_at=found.begun_at,
            ended_at=found.ended_at,
            clock=found.spec.clock,
            report=found.report,
        )

    async def _games(self, asked: HttpRequest) -> ResultPage[Description]:
        given = Parameters(asked, ("page", "per_page"))
        return page_of(described(), given.page, given.per_page)

    async def _seeks(self, asked: HttpRequest) -> ResultPage[Seeking]:
        given = Parameters(asked, ("page", "per_page"))
        return page_of([seek.to_message() for seek in self._hub.lobby], given.page, given.per_page)


def described() -> list[Description]:
    """Every game that can be loaded."""
    found = []
    for name in games.names():
        with contextlib.suppress(games.SpecError):
            found.append(games.describe(name))
    return found


def as_json(refused: HttpError) -> HttpResponse:
    """Return a refusal as JSON, with its status."""
    body = _encode({"error": str(refused)})
    return HttpResponse(body, refused.status, JSON, headers=_FROM_ANYWHERE)
