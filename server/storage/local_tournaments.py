"""Reads a server's database, and the tournaments of `playout-tournament` beside it.

These are in a database of their own, because each is written by one server at a time. What is found
there is shown, and does not count for the server's players and ratings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa
from msgspec import structs
from sqlalchemy.exc import SQLAlchemyError

from playout.server.model.records import Account, StoredMatch, StoredTournament
from playout.server.storage.queries import Reader
from playout.server.storage.results import (
    ALL,
    MatchFilter,
    MatchRow,
    ResultPage,
    TournamentRow,
    result_page,
)
from playout.server.storage.schema import IMPORTED, matches, moves, tournaments
from playout.server.tournament.state import StoredGame

# Queries for lists of matches that have ended, the latest first.
#
# A list is made of branches: conditions of which each match meets at most one, and for each of
# which an index has all columns that the condition, the order and the filter need. So neither the
# number of matches nor the keys of a page far back need the rows of the matches before it.


_M = matches.c
_DAY_S = 86_400.0


class _Side(NamedTuple):
    """A condition on one seat, and the column with the name in the other; seat 0 is either."""

    condition: sa.ColumnElement[bool]
    seat: int
    other: sa.Column[Any] | None


def branches(chosen: MatchFilter, account: Account | None) -> list[sa.ColumnElement[bool]]:
    """Return the branches of a list; `account` is that of the player in the filter, if any."""
    sides = _sides(chosen, account)
    found = [sa.and_(each.condition, *_conditions(chosen, each)) for each in sides]
    # An index of the tournament has far fewer matches than that of a player.
    return [sa.or_(*found)] if chosen.tournament else found


def count(branch: sa.ColumnElement[bool]) -> sa.Select[int]:
    """Select the number of matches of a branch."""
    return sa.select(sa.func.count()).select_from(matches).where(branch)


def part(
    branches: Sequence[sa.ColumnElement[bool]], first: int, most: int
) -> sa.Select[tuple[Any, ...]]:
    """Select at most `most` matches, from number `first` of the list on, with their plies."""
    keys = [sa.select(_M.ended_at, _M.id).where(each) for each in branches]
    listed: Any = keys[0] if len(keys) == 1 else sa.union_all(*keys)
    latest_first = listed.order_by(sa.desc("ended_at"), sa.desc("id"))
    chosen = latest_first.offset(first).limit(most).subquery()
    plies = sa.select(sa.func.count()).where(moves.c.match == _M.id).scalar_subquery()
    rows = sa.select(matches, plies.label("plies")).join(chosen, chosen.c.id == _M.id)
    return rows.order_by(_M.ended_at.desc(), _M.id.desc())


def _sides(chosen: MatchFilter, account: Account | None) -> list[_Side]:
    """Return the seats that the players of the filter may have.

    Imported matches have the name without an account; if they are rated, it is not a guest's.
    """
    if account:
        return [
            _Side(_M.first_account == account.id, 1, _M.second),
            _Side(_M.second_account == account.id, 2, _M.first),
            _Side(sa.and_(_M.first == account.name, IMPORTED), 1, _M.second),
            _Side(sa.and_(_M.second == account.name, IMPORTED), 2, _M.first),
        ]
    if name := chosen.player:
        return [_Side(_M.first == name, 1, _M.second), _Side(_M.second == name, 2, _M.first)]
    if name := chosen.opponent:
        return [_Side(_M.first == name, 0, None), _Side(_M.second == name, 0, None)]
    return [_Side(sa.true(), 0, None)]


def _conditions(chosen: MatchFilter, side: _Side) -> list[sa.ColumnElement[bool]]:
    conditions: list[sa.ColumnElement[bool]] = [_M.ended_at.is_not(None)]
    if chosen.game is not None:
        conditions.append(_M.game == chosen.game)
    if chosen.opponent is not None and side.other is not None:
        conditions.append(side.other == chosen.opponent)
    if chosen.result is not None:
        conditions.append(_M.winner.in_(_winners(chosen.result, side.seat)))
    if chosen.since is not None:
        conditions.append(_M.ended_at >= _day(chosen.since).timestamp())
    if chosen.until is not None:
        conditions.append(_M.ended_at < _day(chosen.until).timestamp() + _DAY_S)
    if chosen.tournament is not None:
        conditions.append(_M.tournament == chosen.tournament)
    return conditions


def _winners(result: str, seat: int) -> tuple[int, ...]:
    """Return the winners with which a match had that result for a seat, 0 for either."""
    if result in ("won", "lost"):
        return (1, 2) if seat == 0 else (seat if result == "won" else 3 - seat,)
    return (-1,) if result == "tied" else (0,)


def _day(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)


T = TypeVar("T")


class LocalReader(Reader):
    """Reads two databases; the second may be missing or of another version, and is passed over."""

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
        """Return a page of the matches that have ended; those of a tournament from both."""
        found = super().matches(chosen, page, per_page)
        if found.total or chosen.tournament is None:
            return found
        local = self._attempt(lambda reader: reader.matches(chosen, page, per_page), found)
        rows = tuple(structs.replace(each, linked=(False, False)) for each in local.items)
        return structs.replace(local, items=rows)

    def match(self, match: str) -> StoredMatch | None:
        """Return a match; one of the second database has no accounts here, and is not rated."""
        found = super().match(match)
        if found:
            return found
        local = self._attempt(lambda reader: reader.match(match), None)
        if local is None:
            return None
        started = structs.replace(local.started, accounts=(None, None), rated=False)
        return structs.replace(local, started=started)

    def tournaments(self, page: int = 1, per_page: int = 50) -> ResultPage[TournamentRow]:
        """Return a page of the tournaments in both databases, the latest first."""
        wanted = page * per_page
        own, nothing = super().tournaments(1, wanted), ResultPage[TournamentRow]()
        local = self._attempt(lambda reader: reader.tournaments(1, wanted), nothing)
        rows = sorted((*own.items, *local.items), key=lambda row: -row.started_at)
        return result_page(
            rows[wanted - per_page : wanted], page, per_page, own.total + local.total
        )

    def tournament(self, tournament: str) -> tuple[StoredTournament, list[StoredGame]] | None:
        """Return a stored tournament with its games, None if neither database has it."""
        found = super().tournament(tournament)
        return found or self._attempt(lambda reader: reader.tournament(tournament), None)

    def _attempt(self, read: Callable[[Reader], T], nothing: T) -> T:
        """Read the second database; `nothing` if that is not possible."""
        try:
            return read(self._local)
        except SQLAlchemyError:
            return nothing
