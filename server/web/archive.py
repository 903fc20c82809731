"""Reads the database for pages and the API, in threads, so that running matches do not wait."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from msgspec import Struct
from sqlalchemy.exc import SQLAlchemyError
from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger
from twisted.web import http

from playout.protocol.analyst import Puzzle
from playout.protocol.messages import Fixture
from playout.protocol.time_control import CLOCK_CLASSES, ClockClass
from playout.protocol.tournament_spec import TournamentSpec, public
from playout.ratings import leaderboard
from playout.ratings.leaderboard import (
    ALL_CLOCKS,
    Leaderboard,
    LeaderboardEntry,
    OverallEntry,
    RatingPoint,
)
from playout.server.model.records import StoredMatch
from playout.server.storage.database import ReadAnalysis, whole_analysis
from playout.server.storage.engine import first_line
from playout.server.storage.queries import EndedRound, LocalReader, Reader
from playout.server.storage.results import (
    ALL,
    MatchFilter,
    MatchRow,
    PlayerRow,
    PlayerTotals,
    PuzzleRatings,
    ResultPage,
    TournamentRow,
)
from playout.server.tournament.ledger import UNREADABLE, Ledger, UpcomingMatch
from playout.server.tournament.report import Report
from playout.server.tournament.results import Results
from playout.server.web.http import HttpError
from playout.server.web.worker_pool import WorkerPool, WorkUnavailable

T = TypeVar("T")

_log = Logger(namespace="server")


class UnreadableTournament(HttpError):
    """A stored tournament cannot be shown; the text gives its id and the reason."""

    def __init__(self, tournament: str, error: Exception) -> None:
        text = f"tournament {tournament} cannot be shown: {error}"
        super().__init__(http.NOT_FOUND, text)


class TournamentRecord(Struct, frozen=True, kw_only=True):
    """A tournament, its matches in the order of their starts, its report, and its next matches."""

    tournament: str
    spec: TournamentSpec
    started_at: float
    ended_at: float | None
    fixtures: tuple[Fixture, ...]
    report: Report
    upcoming: tuple[UpcomingMatch, ...] = ()
    paused: bool = False
    #: Whether it is from the second database: this server has no pages of its players.
    is_local: bool = False
    #: The account that has reported it, if it was played elsewhere.
    reporter: str | None = None


class VersionRecord(Struct, frozen=True, kw_only=True):
    """The rating of one version of a player at one game, and its history.

    `clocks` has its ratings from the matches of each class of clocks.
    """

    entry: LeaderboardEntry
    clocks: dict[ClockClass, LeaderboardEntry]
    history: tuple[RatingPoint, ...]


class GameRecord(Struct, frozen=True, kw_only=True):
    """A player at one game: the totals of all matches with a result, and ratings by version."""

    game: str
    totals: PlayerTotals
    versions: tuple[VersionRecord, ...]


class PlayerRecord(Struct, frozen=True, kw_only=True):
    """A player; `created_at` is None without an account."""

    name: str
    created_at: float | None
    games: tuple[GameRecord, ...]


#: Maximum number of matches of a tournament that are known before they begin.
_UPCOMING = 6
_NO_DATABASE = str(uuid.uuid4())


class Archive:
    """Reads one database; empty without one. All Deferreds fail with HttpError."""

    def __init__(self, url: str | None, reactor: Any, tournaments: str | None = None) -> None:
        """`tournaments`: a second database, whose tournaments are shown, too."""
        self._reader = _reader(url, tournaments) if url else None
        self._pool = WorkerPool(reactor)
        self._fault: str | None = None
        if self._reader:
            reactor.addSystemEventTrigger("after", "shutdown", self._reader.close)

    # Stored rows.

    def matches(
        self, match_filter: MatchFilter = ALL, page: int = 1, per_page: int = 50
    ) -> Deferred[ResultPage[MatchRow]]:
        """Finished matches, the latest first."""
        return self._read(lambda reader: reader.matches(match_filter, page, per_page), ResultPage())

    def latest_matches(self, most: int) -> Deferred[list[MatchRow]]:
        """The matches that ended last."""
        return self._read(lambda reader: reader.latest_matches(most), [])

    def match(
        self, match: str, read_analysis: ReadAnalysis | None = whole_analysis
    ) -> Deferred[StoredMatch | None]:
        """A match with its moves, None if it is not stored. See `Database.matches`."""
        return self._read(lambda reader: reader.match(match, read_analysis), None)

    def players(self, page: int = 1, per_page: int = 50) -> Deferred[ResultPage[PlayerRow]]:
        """The players with an account; those who played last come first."""
        return self._read(lambda reader: reader.players(page, per_page), ResultPage())

    def tournaments(self, page: int = 1, per_page: int = 50) -> Deferred[ResultPage[TournamentRow]]:
        """Return a page of the tournaments, the latest first."""
        return self._read(lambda reader: reader.tournaments(page, per_page), ResultPage())

    def ended_rounds(self, since: float) -> Deferred[list[EndedRound]]:
        """The rounds that ended after a time in seconds since 1970, the first one first."""
        return self._read(lambda reader: reader.ended_rounds((since, "")), [])

    def database_id(self) -> Deferred[str]:
        """The id of the database, a UUID; without a database, it is new with each start."""
        return self._read(lambda reader: reader.database_id(), _NO_DATABASE)

    def rated_games(self) -> Deferred[list[str]]:
        """The games that have rated or reported matches, sorted."""
        return self._read(lambda reader: reader.rated_games(), [])

    def games(self) -> Deferred[list[str]]:
        """The games of all stored matches, sorted."""
        return self._read(lambda reader: reader.games(), [])

    def latest_players(self, most: int) -> Deferred[list[str]]:
        """The names of the players that played last, except guests."""
        return self._read(lambda reader: reader.latest_players(most), [])

    def ratings(
        self, game: str, scale: str = ALL_CLOCKS, reporter: str | None = None
    ) -> Deferred[Leaderboard]:
        """The leaderboard of a game, which is updated as matches end.

        It has this scale, or is that of the matches that the account `reporter` has reported.
        """

        def read(reader: Reader) -> Leaderboard:
            if reporter is not None:
                return reader.reported_leaderboard(game, reporter)
            return reader.leaderboard(game, scale)

        return self._read(read, Leaderboard(game=game, scale=scale))

    def scales(self, game: str) -> Deferred[dict[str, str | None]]:
        """The scales on which a game has ratings, each with the name of its reporter."""
        return self._read(lambda reader: reader.scales(game), {})

    def over_games(self) -> Deferred[list[OverallEntry] | None]:
        """The players over all games, those of the most games first; None without a database."""
        return self._compute("over games", lambda reader, before: reader.over_games())

    def player(self, name: str) -> Deferred[PlayerRecord | None]:
        """The player whose name is or looks like this one; None for guests and unknown names."""
        return self._read(lambda reader: _player(reader, name), None)

    def ladder_history(
        self, game: str, player: str
    ) -> Deferred[dict[str, tuple[RatingPoint, ...]]]:
        """Return the ratings of a player on a ladder over time, by version."""
        return self._read(lambda reader: reader.ladder_history(game, player), {})

    def puzzle_counts(self) -> Deferred[dict[str, int]]:
        """Return the number of puzzles of each game that has some."""
        return self._read(lambda reader: reader.puzzle_counts(), {})

    def puzzle(self, puzzle: str) -> Deferred[Puzzle | None]:
        """Return a puzzle, None if none has this id."""
        return self._read(lambda reader: reader.puzzle(puzzle), None)

    def puzzle_of_day(self, day: str) -> Deferred[Puzzle | None]:
        """Return the puzzle of a day, None without puzzles."""
        return self._read(lambda reader: reader.puzzle_of_day(day), None)

    # Computed values.

    def most_played(self) -> Deferred[list[str] | None]:
        """Return the names of the games of ended matches, the most frequent first."""
        return self._compute("most played", lambda reader, before: reader.most_played())

    def puzzle_ratings(self, game: str) -> Deferred[PuzzleRatings | None]:
        """Return the puzzles of a game with their ratings and those of solvers."""
        return self._compute(("puzzles", game), lambda reader, before: reader.puzzle_ratings(game))

    def tournament(self, tournament: str) -> Deferred[TournamentRecord | None]:
        """A tournament and its report so far, None if it is not stored.

        Fails with UnreadableTournament if this version cannot read it.
        """

        def compute(reader: Reader, before: TournamentRecord | None) -> TournamentRecord | None:
            return before if before and before.ended_at else _tournament(reader, tournament)

        return self._compute(("tournament", tournament), compute)

    def run_in_thread(self, work: Callable[[], T]) -> Deferred[T]:
        """Call slow work in a thread. Fails with WorkUnavailable if too many jobs are waiting."""
        return self._pool.run(work)

    # Reading.

    def _read(self, read: Callable[[Reader], T], nothing: T) -> Deferred[T]:
        """Call `read` in a thread; without a database, return `nothing`."""
        reader = self._reader
        if reader is None:
            return succeed(nothing)
        return self._pool.run(lambda: self._attempt(lambda: read(reader)))

    def _compute(
        self, key: Hashable, compute: Callable[[Reader, Any], T | None]
    ) -> Deferred[T | None]:
        """Call WorkerPool.compute; without a database, return None."""
        reader = self._reader
        if reader is None:
            return succeed(None)
        return self._pool.compute(
            key, lambda before: self._attempt(lambda: compute(reader, before))
        )

    def _attempt(self, read: Callable[[], T]) -> T:
        """Call `read`, and log each new reason of a failure once. Raises WorkUnavailable."""
        try:
            value = read()
        except SQLAlchemyError as error:
            reason = first_line(error)
            if reason != self._fault:
                _log.warn("the database cannot be read: {reason}", reason=reason)
            self._fault = reason
            raise WorkUnavailable("the database does not answer at the moment") from error
        self._fault = None
        return value


def _reader(url: str, tournaments: str | None) -> Reader:
    return LocalReader(url, tournaments) if tournaments else Reader(url)


def _player(reader: Reader, name: str) -> PlayerRecord | None:
    player = reader.player(name)
    if player is None:
        return None
    records = []
    for game, totals in player.games.items():
        board = reader.leaderboard(game)
        noted = reader.noted_ratings(game, player.name)
        by_clocks = {each: reader.leaderboard(game, each).ratings() for each in CLOCK_CLASSES}
        versions = tuple(
            VersionRecord(
                entry=entry,
                clocks={
                    each: its
                    for each, rated in by_clocks.items()
                    if (its := rated.get((entry.name, entry.version)))
                },
                history=leaderboard.history(board, entry, noted.get(entry.version, ())),
            )
            for entry in board.entries
            if entry.name == player.name
        )
        records.append(GameRecord(game=game, totals=totals, versions=versions))
    return PlayerRecord(name=player.name, created_at=player.created_at, games=tuple(records))


def _tournament(reader: Reader, tournament: str) -> TournamentRecord | None:
    stored = reader.tournament(tournament)
    if stored is None:
        return None
    try:
        ledger = Ledger.restored(*stored)
    except UNREADABLE as error:
        raise UnreadableTournament(tournament, error) from error
    records, _ = stored
    return TournamentRecord(
        tournament=tournament,
        spec=public(ledger.spec),
        started_at=records.created.at,
        ended_at=records.ended.at if records.ended else None,
        fixtures=tuple(ledger.fixtures.values()),
        paused=ledger.paused,
        is_local=reader.is_local(tournament),
        reporter=reader.reporter(tournament),
        report=Results(ledger).report(public=True),
        upcoming=tuple(ledger.upcoming(_UPCOMING)),
    )
