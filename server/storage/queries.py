"""Queries of pages: lists of matches, players and tournaments, and what ratings are computed from.

They block, so they are not for the reactor. Nothing here writes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from msgspec import DecodeError

from games import TIE
from server.model.messages import Reason
from server.model.names import skeleton
from server.model.records import Account, StoredMatch, StoredTournament
from server.model.tournament_spec import TournamentSpec, loads
from server.storage.database import Database
from server.storage.results import (
    ALL,
    Freshness,
    MatchFilter,
    MatchRow,
    PlayerGames,
    PlayerRow,
    PlayerTotals,
    ResultPage,
    TournamentRow,
    linked,
    result_page,
)
from server.storage.rows import account_of, match_ended_of, match_started_of, tournament_of
from server.storage.schema import accounts, ladder_ratings, matches, moves, tournaments, withdrawals
from server.tournament.leaderboard import LOST, WON, RatedMatch, RatingPoint
from server.tournament.state import StoredGame


class Reader:
    """Reads one database. Every method raises SQLAlchemyError when it fails."""

    def __init__(self, url: str) -> None:
        """Nothing is opened yet. Raises StorageError."""
        self._database = Database(url, only_read=True)

    def close(self) -> None:
        """Close all connections to the database."""
        self._database.close()

    def is_local(self, tournament: str) -> bool:
        """Return whether a tournament is not the server's own; never of one database."""
        return False

    # Matches.

    def matches(
        self, chosen: MatchFilter = ALL, page: int = 1, per_page: int = 50
    ) -> ResultPage[MatchRow]:
        """Return a page of the matches that have ended, the latest first."""
        conditions: list[sa.ColumnElement[bool]] = [matches.c.ended_at.is_not(None)]
        if chosen.game is not None:
            conditions.append(matches.c.game == chosen.game)
        if chosen.tournament is not None:
            conditions.append(matches.c.tournament == chosen.tournament)
        if (name := chosen.opponent) is not None:
            conditions.append(sa.or_(matches.c.first == name, matches.c.second == name))
        with self._database.connect() as connection:
            each: list[sa.ColumnElement[bool]] = [sa.true()]
            if chosen.player is not None:
                account = _account_like(connection, chosen.player)
                each = _of_account(account) if account else _of_name(chosen.player)
            branches = [sa.and_(one, *conditions) for one in each]
            total = sum(_count(connection, branch) for branch in branches)
            first = per_page * (page - 1)
            rows: Sequence[sa.Row[Any]] = ()
            if first < total:
                rows = connection.execute(_latest(branches, first, per_page)).all()
        return result_page([_match_row(row) for row in rows], page, per_page, total)

    def match(self, match: str) -> StoredMatch | None:
        """Return a match with its moves; None if there is none of this id."""
        return next(self._database.matches(match=match), None)

    # Players.

    def players(self, page: int = 1, per_page: int = 50) -> ResultPage[PlayerRow]:
        """Return a page of all accounts, those that played last first."""
        last = sa.func.coalesce
        ends = [
            sa.select(last(sa.func.max(matches.c.ended_at), 0.0))
            .where(column == accounts.c.id)
            .scalar_subquery()
            for column in (matches.c.first_account, matches.c.second_account)
        ]
        active = sa.case((ends[0] > ends[1], ends[0]), else_=ends[1])
        chosen = sa.select(accounts).order_by(active.desc(), accounts.c.name)
        with self._database.connect() as connection:
            total = _count_of(connection, accounts)
            rows = connection.execute(_limited(chosen, page, per_page)).all()
            some = [account_of(row) for row in rows]
            known = _totals(connection, some)
        return result_page(
            [_player_row(one, known.get(one.id, {})) for one in some], page, per_page, total
        )

    def player(self, name: str) -> PlayerGames | None:
        """Return the player with this name, or one that looks like it; None for guests."""
        with self._database.connect() as connection:
            account = _account_like(connection, name)
            known = _totals(connection, [account]) if account else _totals(connection, (), name)
        if account is None and not known:
            return None
        return PlayerGames(
            name=account.name if account else name,
            created_at=account.created_at if account else None,
            games={
                game: _summed(some)
                for each in known.values()
                for game, some in sorted(each.items())
            },
        )

    # Tournaments.

    def tournaments(self, page: int = 1, per_page: int = 50) -> ResultPage[TournamentRow]:
        """Return a page of all tournaments, the latest first."""
        ended = (
            sa.select(sa.func.count())
            .where(matches.c.tournament == tournaments.c.id, matches.c.ended_at.is_not(None))
            .scalar_subquery()
        )
        chosen = sa.select(tournaments, ended.label("matches")).order_by(tournaments.c.id.desc())
        with self._database.connect() as connection:
            total = _count_of(connection, tournaments)
            rows = connection.execute(_limited(chosen, page, per_page)).all()
        return result_page([_tournament_row(row) for row in rows], page, per_page, total)

    def tournament(self, tournament: str) -> tuple[StoredTournament, list[StoredGame]] | None:
        """Return a tournament without its matches, and the games that its results follow from.

        The games are oldest first. None if there is no tournament of this id.
        """
        with self._database.connect() as connection:
            its = tournaments.c.id == tournament
            row = connection.execute(sa.select(tournaments).where(its)).one_or_none()
            if row is None:
                return None
            withdrawn = connection.scalars(
                sa.select(withdrawals.c.entrant)
                .where(withdrawals.c.tournament == tournament)
                .order_by(withdrawals.c.number)
            ).all()
            actions = _actions().label("actions")
            chosen = sa.select(matches, actions).where(matches.c.tournament == tournament)
            rows = connection.execute(chosen.order_by(matches.c.id)).all()
        return tournament_of(row, withdrawn), [_stored_game(each) for each in rows]

    # Ratings.

    def ladder_history(self, game: str, player: str) -> dict[str, tuple[RatingPoint, ...]]:
        """Return the ratings of a player on a ladder over time, by version; the first one first."""
        r = ladder_ratings.c
        chosen = (
            sa.select(r.version, r.at, r.rating, r.error, r.matches)
            .join(accounts, accounts.c.id == r.account)
            .where(r.game == game, accounts.c.skeleton == skeleton(player))
            .order_by(r.at, r.matches)
        )
        found: dict[str, list[RatingPoint]] = {}
        with self._database.connect() as connection:
            for row in connection.execute(chosen):
                point = RatingPoint(row.at, row.rating, row.error, row.matches)
                found.setdefault(row.version, []).append(point)
        return {version: tuple(points) for version, points in found.items()}

    def rated_games(self) -> list[str]:
        """Return the names of the games that have rated matches, sorted."""
        chosen = sa.select(matches.c.game).where(matches.c.rated, matches.c.ended_at.is_not(None))
        with self._database.connect() as connection:
            return sorted(connection.scalars(chosen.distinct()))

    def freshness(self, game: str) -> Freshness:
        """Return a value that changes when a match of this game ends."""
        chosen = sa.select(
            sa.func.count().label("matches"), sa.func.max(matches.c.ended_at).label("last_at")
        )
        with self._database.connect() as connection:
            row = connection.execute(
                chosen.where(matches.c.game == game, matches.c.ended_at.is_not(None))
            ).one()
        return Freshness(matches=row.matches, last_at=row.last_at)

    def rated(self, game: str) -> list[RatedMatch]:
        """Return the rated matches of a game that have a result, ordered by their end."""
        one, other = accounts.alias(), accounts.alias()
        first, second = matches.c.first, matches.c.second
        chosen = (
            sa.select(
                matches.c.id,
                first,
                second,
                sa.func.coalesce(one.c.name, first).label("first_now"),
                sa.func.coalesce(other.c.name, second).label("second_now"),
                matches.c.winner,
                matches.c.ended_at,
                matches.c.tournament,
                sa.func.coalesce(matches.c.first_version, matches.c.first_bot, "").label(
                    "first_version"
                ),
                sa.func.coalesce(matches.c.second_version, matches.c.second_bot, "").label(
                    "second_version"
                ),
            )
            .outerjoin_from(matches, one, one.c.id == matches.c.first_account)
            .outerjoin(other, other.c.id == matches.c.second_account)
            .where(matches.c.game == game, matches.c.ended_at.is_not(None))
            .where(matches.c.rated, matches.c.winner != 0)
            .order_by(matches.c.ended_at, matches.c.id)
        )
        with self._database.connect() as connection:
            return [
                RatedMatch(
                    match=row.id,
                    then=(row.first, row.second),
                    now=(row.first_now, row.second_now),
                    winner=row.winner,
                    at=row.ended_at,
                    tournament=row.tournament,
                    versions=(row.first_version, row.second_version),
                )
                for row in connection.execute(chosen)
            ]


# Matches of a player.


def _account_like(connection: sa.Connection, name: str) -> Account | None:
    chosen = sa.select(accounts).where(accounts.c.skeleton == skeleton(name))
    row = connection.execute(chosen).one_or_none()
    return account_of(row) if row else None


def _of_account(account: Account) -> list[sa.ColumnElement[bool]]:
    """Return conditions of which each match of an account meets one; each has an index.

    Imported matches have the name without an account; if they are rated, it is not a guest's.
    """
    return [
        matches.c.first_account == account.id,
        matches.c.second_account == account.id,
        sa.and_(matches.c.first == account.name, _IMPORTED),
        sa.and_(matches.c.second == account.name, _IMPORTED),
    ]


def _of_name(name: str) -> list[sa.ColumnElement[bool]]:
    return [matches.c.first == name, matches.c.second == name]


_IMPORTED = sa.and_(
    matches.c.first_account.is_(None), matches.c.second_account.is_(None), matches.c.rated
)


#: By player and game: a result (1 a win, 2 a loss), how many matches have it, and the last end.
_Totals = dict[str, dict[str, list[tuple[int, int, float]]]]


def _totals(connection: sa.Connection, some: Iterable[Account], *names: str) -> _Totals:
    """Return the totals of accounts by their ids, and of names without an account by name."""
    ids = {account.id: account.id for account in some}
    named = {account.name: account.id for account in some} | {name: name for name in names}
    found: _Totals = {}
    m = matches.c
    for seat, column, owners, condition in (
        (1, m.first_account, ids, sa.true()),
        (2, m.second_account, ids, sa.true()),
        (1, m.first, named, _IMPORTED),
        (2, m.second, named, _IMPORTED),
    ):
        chosen = sa.select(
            column.label("owner"),
            m.game,
            m.winner,
            sa.func.count().label("matches"),
            sa.func.max(m.ended_at).label("last_at"),
        )
        chosen = chosen.where(column.in_(owners), m.ended_at.is_not(None), m.winner != 0, condition)
        for row in connection.execute(chosen.group_by(column, m.game, m.winner)):
            result = row.winner if seat == 1 or row.winner == TIE else 3 - row.winner
            games = found.setdefault(owners[row.owner], {})
            games.setdefault(row.game, []).append((result, row.matches, row.last_at))
    return found


def _summed(some: Iterable[tuple[int, int, float]]) -> PlayerTotals:
    counts: dict[int, int] = defaultdict(int)
    last: float | None = None
    for result, count, last_at in some:
        counts[result] += count
        last = last_at if last is None else max(last, last_at)
    won, tied, lost = counts[WON], counts[TIE], counts[LOST]
    return PlayerTotals(matches=won + tied + lost, won=won, tied=tied, lost=lost, last_at=last)


# Statements.


def _latest(
    branches: Sequence[sa.ColumnElement[bool]], first: int, count: int
) -> sa.Select[tuple[Any, ...]]:
    """Select matches that meet one of some conditions, for each of which there is an index."""
    order = (matches.c.ended_at.desc(), matches.c.id.desc())
    cut = [sa.select(matches.c.id).where(each).order_by(*order).limit(first + count)
           for each in branches]  # fmt: skip
    ids = sa.union_all(*(sa.select(each.subquery().c.id) for each in cut))
    plies = sa.select(sa.func.count()).where(moves.c.match == matches.c.id).scalar_subquery()
    chosen = sa.select(matches, plies.label("plies")).where(matches.c.id.in_(ids))
    return chosen.order_by(*order).offset(first).limit(count)


def _actions() -> sa.ScalarSelect[Any]:
    """Select the actions of a match as one text, which is faster to read than a row each."""
    played = (
        sa.select(moves.c.action)
        .where(moves.c.match == matches.c.id)
        .order_by(moves.c.ply)
        .correlate(matches)
        .subquery()
    )
    text = sa.func.aggregate_strings(sa.cast(played.c.action, sa.Text), " ")
    return sa.select(text).scalar_subquery()


def _count(connection: sa.Connection, condition: sa.ColumnElement[bool]) -> int:
    chosen = sa.select(sa.func.count()).select_from(matches).where(condition)
    return connection.scalar(chosen) or 0


def _count_of(connection: sa.Connection, table: sa.Table) -> int:
    return connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0


def _limited(chosen: sa.Select[Any], page: int, per_page: int) -> sa.Select[Any]:
    return chosen.offset(per_page * (page - 1)).limit(per_page)


# Values from rows.


def _match_row(row: sa.Row[Any]) -> MatchRow:
    return MatchRow(
        match=row.id,
        game=row.game,
        players=(row.first, row.second),
        linked=linked((row.first_account, row.second_account), row.rated),
        clock=row.clock,
        rated=row.rated,
        plies=row.plies,
        started_at=row.started_at,
        ended_at=row.ended_at,
        winner=row.winner,
        reason=Reason(row.reason),
        text=row.text,
        tournament=row.tournament,
    )


def _player_row(account: Account, known: dict[str, list[tuple[int, int, float]]]) -> PlayerRow:
    return PlayerRow(
        name=account.name,
        created_at=account.created_at,
        totals=_summed(each for some in known.values() for each in some),
    )


def _tournament_row(row: sa.Row[Any]) -> TournamentRow:
    """A row of the list; without format, games and entrants if its specification is unreadable."""
    try:
        spec = loads(row.spec)
    except DecodeError:
        spec = TournamentSpec(row.name, games=(), format="", entrants=())
    return TournamentRow(
        tournament=row.id,
        name=row.name,
        format=spec.format,
        games=spec.games,
        entrants=tuple(each.name for each in spec.entrants),
        matches=row.matches,
        started_at=row.started_at,
        ended_at=row.ended_at,
    )


def _stored_game(row: sa.Row[Any]) -> StoredGame:
    return StoredGame(
        started=match_started_of(row),
        ended=match_ended_of(row),
        actions=tuple(map(int, (row.actions or "").split())),
    )
