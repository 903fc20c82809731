"""Reads a server's database, and the tournaments of `playout-tournament` beside it.

These are in a second database, because one server at a time writes a database. Its tournaments are
shown, and do not count for the server's players and ratings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import sqlalchemy as sa
from msgspec import structs
from sqlalchemy.exc import SQLAlchemyError

from playout.server.model.records import StoredMatch, StoredTournament
from playout.server.storage.database import ReadAnalysis, whole_analysis
from playout.server.storage.queries import Reader
from playout.server.storage.results import (
    ALL,
    MatchFilter,
    MatchRow,
    ResultPage,
    TournamentRow,
    result_page,
)
from playout.server.storage.schema import tournaments
from playout.server.tournament.ledger import StoredGame

T = TypeVar("T")


class LocalReader(Reader):
    """Reads two databases; a second one that is missing or of another version is ignored."""

    def __init__(self, url: str, second: str) -> None:
        """`second`: the URL of the second database. Raises StorageError."""
        super().__init__(url)
        self._local = Reader(second)

    def close(self) -> None:
        """Close all connections to both databases."""
        super().close()
        self._local.close()

    def is_local(self, tournament: str) -> bool:
        """Return whether a tournament is in the second database only."""
        known = sa.select(tournaments.c.id).where(tournaments.c.id == tournament)
        with self._database.connect() as connection:
            return connection.execute(known).first() is None

    def matches(
        self, chosen: MatchFilter = ALL, page: int = 1, per_page: int = 50
    ) -> ResultPage[MatchRow]:
        """Return a page of the ended matches; those of a tournament from either database."""
        found = super().matches(chosen, page, per_page)
        if found.total or chosen.tournament is None:
            return found
        local = self._attempt(lambda reader: reader.matches(chosen, page, per_page), found)
        rows = tuple(structs.replace(each, linked=(False, False)) for each in local.items)
        return structs.replace(local, items=rows)

    def match(
        self, match: str, read_analysis: ReadAnalysis | None = whole_analysis
    ) -> StoredMatch | None:
        """Return a match; one of the second database has no accounts, and is not rated."""
        found = super().match(match, read_analysis)
        if found:
            return found
        local = self._attempt(lambda reader: reader.match(match, read_analysis), None)
        if local is None:
            return None
        started = structs.replace(
            local.started, first_account=None, second_account=None, rated=False
        )
        return structs.replace(local, started=started)

    def tournaments(self, page: int = 1, per_page: int = 50) -> ResultPage[TournamentRow]:
        """Return a page of the tournaments in both databases, the latest first."""
        wanted = page * per_page
        own, nothing = super().tournaments(1, wanted), ResultPage[TournamentRow]()
        local = self._attempt(lambda reader: reader.tournaments(1, wanted), nothing)
        rows = sorted((*own.items, *local.items), key=lambda row: row.tournament, reverse=True)
        return result_page(
            rows[wanted - per_page : wanted], page, per_page, own.total + local.total
        )

    def tournament(self, tournament: str) -> tuple[StoredTournament, list[StoredGame]] | None:
        """Return a stored tournament with its games; None if neither database has it."""
        found = super().tournament(tournament)
        return found or self._attempt(lambda reader: reader.tournament(tournament), None)

    def _attempt(self, read: Callable[[Reader], T], nothing: T) -> T:
        """Read the second database; return `nothing` if that fails."""
        try:
            return read(self._local)
        except SQLAlchemyError:
            return nothing
