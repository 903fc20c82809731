"""What is stored, for pages: read in threads of its own, so that nobody who plays waits for it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from msgspec import DecodeError, Struct
from sqlalchemy.exc import SQLAlchemyError
from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger
from twisted.web import http

import games
from server.model.messages import Fixture
from server.model.records import StoredMatch
from server.model.tournament_spec import TournamentSpec
from server.storage.engine import first_line
from server.storage.queries import Reader
from server.storage.results import (
    ALL,
    Freshness,
    MatchFilter,
    MatchRow,
    PlayerRow,
    PlayerTotals,
    ResultPage,
    TournamentRow,
)
from server.tournament import leaderboard
from server.tournament.leaderboard import (
    Leaderboard,
    LeaderboardEntry,
    RatedGame,
    RatingPoint,
    TournamentVerdict,
)
from server.tournament.openings import OpeningError
from server.tournament.report import Report
from server.tournament.results import Results
from server.tournament.state import restore_tournament
from server.web.http import HttpError
from server.web.worker_pool import WorkerPool, WorkUnavailable

T = TypeVar("T")

_log = Logger(namespace="server")


class TournamentRecord(Struct, frozen=True, kw_only=True):
    """A tournament, its matches in the order in which they began, and what these have shown."""

    tournament: str
    spec: TournamentSpec
    begun_at: float
    ended_at: float | None
    fixtures: tuple[Fixture, ...]
    report: Report


class VersionRecord(Struct, frozen=True, kw_only=True):
    """What is known of a player in one version at one game."""

    entry: LeaderboardEntry
    history: tuple[RatingPoint, ...]


class GameRecord(Struct, frozen=True, kw_only=True):
    """A player at one game: all its matches with a result, and the ratings of the rated ones."""

    game: str
    totals: PlayerTotals
    versions: tuple[VersionRecord, ...]


class PlayerRecord(Struct, frozen=True, kw_only=True):
    """A player. Without account, `created_at` is None."""

    name: str
    created_at: float | None
    games: tuple[GameRecord, ...]


@dataclass(frozen=True)
class _Rating:
    """A game's ladder, and what it was made from."""

    freshness: Freshness
    bouts: list[RatedGame]
    ladder: Leaderboard


@dataclass(frozen=True)
class _History:
    """How the ratings of a player have come to be what they are on a ladder, by version."""

    rating: _Rating
    points: Mapping[str, tuple[RatingPoint, ...]]

    def versions(self, name: str) -> tuple[VersionRecord, ...]:
        """The best first."""
        return tuple(
            VersionRecord(entry=entry, history=self.points[entry.version])
            for entry in self.rating.ladder.entries
            if entry.name == name
        )


class Archive:
    """Reads one database; without one, it is empty. What a Deferred fails with is Refused."""

    def __init__(self, url: str | None, reactor: Any) -> None:
        self._reader = Reader(url) if url else None
        self._aside = WorkerPool(reactor)
        self._verdicts: dict[str, TournamentVerdict] = {}
        self._fault: str | None = None
        if self._reader:
            reactor.addSystemEventTrigger("after", "shutdown", self._reader.close)

    # What there is.

    def matches(
        self, chosen: MatchFilter = ALL, page: int = 1, per_page: int = 50
    ) -> Deferred[ResultPage[MatchRow]]:
        """Those that have ended, the latest first."""
        return self._read(lambda reader: reader.matches(chosen, page, per_page), ResultPage())

    def match(self, match: str) -> Deferred[StoredMatch | None]:
        """All that is stored of one."""
        return self._read(lambda reader: reader.match(match), None)

    def players(self, page: int = 1, per_page: int = 50) -> Deferred[ResultPage[PlayerRow]]:
        """All who have an account, those that have played last first."""
        return self._read(lambda reader: reader.players(page, per_page), ResultPage())

    def tournaments(self, page: int = 1, per_page: int = 50) -> Deferred[ResultPage[TournamentRow]]:
        """All, the latest first."""
        return self._read(lambda reader: reader.tournaments(page, per_page), ResultPage())

    def rated_games(self) -> Deferred[list[str]]:
        """The games of which there are rated matches, sorted."""
        found = self._compute("games", lambda reader, _: reader.rated_games())
        return found.addCallback(lambda known: known or [])

    # What follows from it.

    def ratings(self, game: str) -> Deferred[Leaderboard]:
        """Of all who have played a game."""
        return Deferred.fromCoroutine(self._ratings(game))

    def player(self, name: str) -> Deferred[PlayerRecord | None]:
        """The one with this name, or with one that looks like it; None for guests and nobody."""
        return Deferred.fromCoroutine(self._player(name))

    def tournament(self, tournament: str) -> Deferred[TournamentRecord | None]:
        """One, and what it has shown so far."""

        def compute(reader: Reader, before: TournamentRecord | None) -> TournamentRecord | None:
            return before if before and before.ended_at else _tournament(reader, tournament)

        return self._compute(("tournament", tournament), compute)

    async def _ratings(self, game: str) -> Leaderboard:
        rating = await self._rating(game)
        return rating.ladder if rating else Leaderboard(game=game)

    async def _player(self, name: str) -> PlayerRecord | None:
        found = await self._read(lambda reader: reader.player(name), None)
        if found is None:
            return None
        records = []
        for game, totals in found.games.items():
            rating = await self._rating(game)
            history = await self._history(rating, found.name) if rating else None
            versions = history.versions(found.name) if history else ()
            records.append(GameRecord(game=game, totals=totals, versions=versions))
        return PlayerRecord(name=found.name, created_at=found.created_at, games=tuple(records))

    def _rating(self, game: str) -> Deferred[_Rating | None]:
        """None where nobody is rated."""

        def compute(reader: Reader, before: _Rating | None) -> _Rating | None:
            freshness = reader.freshness(game)
            if before and before.freshness == freshness:
                return before
            bouts = self._bouts(reader, game)
            return (
                _Rating(freshness, bouts, leaderboard.leaderboard_of(game, bouts))
                if bouts
                else None
            )

        return self._compute(("rating", game), compute)

    def _history(self, rating: _Rating, name: str) -> Deferred[_History | None]:
        def compute(_: Reader, before: _History | None) -> _History:
            if before and before.rating is rating:
                return before
            return _History(rating, leaderboard.histories(rating.bouts, name))

        return self._compute(("history", rating.ladder.game, name), compute)

    def _bouts(self, reader: Reader, game: str) -> list[RatedGame]:
        rated = reader.rated(game)
        known = {
            tournament: self._verdict(reader, tournament)
            for tournament in {each.tournament for each in rated if each.tournament}
        }
        return leaderboard.rated_games(
            rated, {each: verdict for each, verdict in known.items() if verdict}
        )

    def _verdict(self, reader: Reader, tournament: str) -> TournamentVerdict | None:
        """None where only matches of a tournament were imported, and not itself."""
        if tournament in self._verdicts:
            return self._verdicts[tournament]
        stored = reader.tournament(tournament)
        if stored is None:
            return None
        try:
            contest = restore_tournament(*stored)
        except _UNREADABLE:
            return TournamentVerdict(set(), {})
        gathered = Results(contest.spec, contest.withdrawn, contest.fixtures.values())
        versions = {each.name: each.version for each in contest.spec.entrants}
        verdict = TournamentVerdict(gathered.counted_matches, versions)
        if contest.over:
            self._verdicts[tournament] = verdict
        return verdict

    def aside(self, work: Callable[[], T]) -> Deferred[T]:
        """Do something that takes long, in a thread."""
        return self._aside.do(work)

    # How it is read.

    def _read(self, read: Callable[[Reader], T], nothing: T) -> Deferred[T]:
        """In a thread; `nothing` is what is read without a database."""
        reader = self._reader
        if reader is None:
            return succeed(nothing)
        return self._aside.do(lambda: self._attempt(lambda: read(reader)))

    def _compute(
        self, key: Hashable, compute: Callable[[Reader, Any], T | None]
    ) -> Deferred[T | None]:
        """As `Aside.compute`."""
        reader = self._reader
        if reader is None:
            return succeed(None)
        return self._aside.compute(
            key, lambda before: self._attempt(lambda: compute(reader, before))
        )

    def _attempt(self, read: Callable[[], T]) -> T:
        """Raises Unavailable; why is logged once."""
        try:
            found = read()
        except SQLAlchemyError as error:
            reason = first_line(error)
            if reason != self._fault:
                _log.warn("the database cannot be read: {reason}", reason=reason)
            self._fault = reason
            raise WorkUnavailable("the database does not answer at the moment") from error
        self._fault = None
        return found


_UNREADABLE = (games.SpecError, OpeningError, DecodeError, ValueError)


def _tournament(reader: Reader, tournament: str) -> TournamentRecord | None:
    stored = reader.tournament(tournament)
    if stored is None:
        return None
    held, sittings = stored
    try:
        contest = restore_tournament(held, sittings)
    except _UNREADABLE as error:
        text = f"tournament {tournament} cannot be shown: {error}"
        raise HttpError(http.NOT_FOUND, text) from error
    fixtures = tuple(contest.fixtures.values())
    return TournamentRecord(
        tournament=tournament,
        spec=contest.spec,
        begun_at=held.created.at,
        ended_at=held.ended.at if held.ended else None,
        fixtures=fixtures,
        report=Results(contest.spec, contest.withdrawn, fixtures).report(),
    )
