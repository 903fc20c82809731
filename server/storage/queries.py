"""What pages show of a database: rows, a page at a time, and what ratings are computed from.

Blocks, so not for the reactor. Nothing here writes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import sqlalchemy as sa
from msgspec import Struct

from games import TIE
from server.model.messages import Reason
from server.model.names import skeleton
from server.model.records import Account, StoredMatch, StoredTournament
from server.model.tournament_spec import loads
from server.storage.database import Database, account_of, begun_of, finished_of, held_of
from server.storage.schema import accounts, matches, moves, suspensions, tournaments
from server.tournament.leaderboard import LOST, WON, RatedMatch
from server.tournament.state import StoredGame

T = TypeVar("T")


class ResultPage(Struct, Generic[T], frozen=True):
    """Some of a list, from its beginning: `page` of so many `pages`, of `total` items in all."""

    items: tuple[T, ...] = ()
    page: int = 1
    pages: int = 1
    total: int = 0


class MatchRow(Struct, frozen=True, kw_only=True):
    """A match in a list. `linked`: has each of the players a page? Guests have none.

    What belongs to the end is None while it is being played.
    """

    match: str
    game: str
    players: tuple[str, str]
    linked: tuple[bool, bool]
    clock: str
    rated: bool
    plies: int
    begun_at: float
    ended_at: float | None = None
    winner: int | None = None
    reason: Reason | None = None
    text: str | None = None
    tournament: str | None = None


class PlayerTotals(Struct, frozen=True, kw_only=True):
    """The matches of a player that have a result, all together; and when the last one ended."""

    matches: int = 0
    won: int = 0
    tied: int = 0
    lost: int = 0
    last_at: float | None = None


class PlayerRow(Struct, frozen=True, kw_only=True):
    """One who has an account, and how all its matches ended."""

    name: str
    created_at: float
    totals: PlayerTotals


class PlayerGames(Struct, frozen=True, kw_only=True):
    """A player, and how its matches ended, by game; without account if these were imported."""

    name: str
    created_at: float | None
    games: dict[str, PlayerTotals]


class TournamentRow(Struct, frozen=True, kw_only=True):
    """A tournament in a list; `matches`: how many have ended."""

    tournament: str
    name: str
    format: str
    games: tuple[str, ...]
    entrants: tuple[str, ...]
    matches: int
    begun_at: float
    ended_at: float | None


class Freshness(NamedTuple):
    """What changes when matches of a game end: how many have, and when the last one did."""

    matches: int
    last_at: float | None


class MatchFilter(NamedTuple):
    """Which matches: those for which all of it holds that is given.

    Of a player who has no account, and of an opponent, by the exact name that it had in them.
    """

    game: str | None = None
    player: str | None = None
    opponent: str | None = None
    tournament: str | None = None


ALL = MatchFilter()


class Reader:
    """Reads one database. Every method raises SQLAlchemyError when it fails."""

    def __init__(self, url: str) -> None:
        """Nothing is opened yet. Raises StorageError."""
        self._database = Database(url, only_read=True)

    def close(self) -> None:
        """Let go of it."""
        self._database.close()

    # Matches.

    def matches(
        self, chosen: MatchFilter = ALL, page: int = 1, per_page: int = 50
    ) -> ResultPage[MatchRow]:
        """Those that have ended, the latest first."""
        game, player, opponent, tournament = chosen
        conditions: list[sa.ColumnElement[bool]] = [matches.c.ended_at.is_not(None)]
        if game is not None:
            conditions.append(matches.c.game == game)
        if tournament is not None:
            conditions.append(matches.c.tournament == tournament)
        if opponent is not None:
            conditions.append(sa.or_(matches.c.first == opponent, matches.c.second == opponent))
        with self._database.reading() as connection:
            each: list[sa.ColumnElement[bool]] = [sa.true()]
            if player is not None:
                account = _account_like(connection, player)
                each = _of_account(account) if account else _of_name(player)
            branches = [sa.and_(one, *conditions) for one in each]
            total = sum(_count(connection, branch) for branch in branches)
            first = per_page * (page - 1)
            rows: Sequence[sa.Row[Any]] = ()
            if first < total:
                rows = connection.execute(_latest(branches, first, per_page)).all()
        return paged([_match_row(row) for row in rows], page, per_page, total)

    def match(self, match: str) -> StoredMatch | None:
        """All that is stored of one."""
        return next(self._database.matches(match=match), None)

    # Players.

    def players(self, page: int = 1, per_page: int = 50) -> ResultPage[PlayerRow]:
        """All accounts, those that have played last first."""
        last = sa.func.coalesce
        ends = [
            sa.select(last(sa.func.max(matches.c.ended_at), 0.0))
            .where(column == accounts.c.id)
            .scalar_subquery()
            for column in (matches.c.first_account, matches.c.second_account)
        ]
        active = sa.case((ends[0] > ends[1], ends[0]), else_=ends[1])
        chosen = sa.select(accounts).order_by(active.desc(), accounts.c.name)
        with self._database.reading() as connection:
            total = _count_of(connection, accounts)
            rows = connection.execute(_limited(chosen, page, per_page)).all()
            some = [account_of(row) for row in rows]
            known = _totals(connection, some)
        return paged(
            [_player_row(one, known.get(one.id, {})) for one in some], page, per_page, total
        )

    def player(self, name: str) -> PlayerGames | None:
        """The one with this name, or with one that looks like it. Guests are none."""
        with self._database.reading() as connection:
            account = _account_like(connection, name)
            whom: tuple[Any, ...] = ([account],) if account else ((), name)
            known = _totals(connection, *whom)
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
        """All, the latest first."""
        ended = (
            sa.select(sa.func.count())
            .where(matches.c.tournament == tournaments.c.id, matches.c.ended_at.is_not(None))
            .scalar_subquery()
        )
        chosen = sa.select(tournaments, ended.label("matches")).order_by(tournaments.c.id.desc())
        with self._database.reading() as connection:
            total = _count_of(connection, tournaments)
            rows = connection.execute(_limited(chosen, page, per_page)).all()
        return paged([_tournament_row(row) for row in rows], page, per_page, total)

    def tournament(self, tournament: str) -> tuple[StoredTournament, list[StoredGame]] | None:
        """One without its matches; and these as far as results follow from them, oldest first."""
        with self._database.reading() as connection:
            its = tournaments.c.id == tournament
            row = connection.execute(sa.select(tournaments).where(its)).one_or_none()
            if row is None:
                return None
            out = connection.scalars(
                sa.select(suspensions.c.entrant)
                .where(suspensions.c.tournament == tournament)
                .order_by(suspensions.c.number)
            ).all()
            line = _line().label("line")
            chosen = sa.select(matches, line).where(matches.c.tournament == tournament)
            rows = connection.execute(chosen.order_by(matches.c.id)).all()
        return held_of(row, out, ()), [_sitting(each) for each in rows]

    # Ratings.

    def rated_games(self) -> list[str]:
        """The games of which there are rated matches, sorted."""
        chosen = sa.select(matches.c.game).where(matches.c.rated, matches.c.ended_at.is_not(None))
        with self._database.reading() as connection:
            return sorted(connection.scalars(chosen.distinct()))

    def freshness(self, game: str) -> Freshness:
        """Whether there is anything new is told by this."""
        chosen = sa.select(sa.func.count(), sa.func.max(matches.c.ended_at))
        with self._database.reading() as connection:
            row = connection.execute(
                chosen.where(matches.c.game == game, matches.c.ended_at.is_not(None))
            ).one()
        return Freshness(*row)

    def rated(self, game: str) -> list[RatedMatch]:
        """The rated matches of a game that have a result, in the order in which they ended."""
        one, other = accounts.alias(), accounts.alias()
        first, second = matches.c.first, matches.c.second
        chosen = (
            sa.select(
                matches.c.id,
                first,
                second,
                sa.func.coalesce(one.c.name, first),
                sa.func.coalesce(other.c.name, second),
                matches.c.winner,
                matches.c.ended_at,
                matches.c.tournament,
            )
            .outerjoin_from(matches, one, one.c.id == matches.c.first_account)
            .outerjoin(other, other.c.id == matches.c.second_account)
            .where(matches.c.game == game, matches.c.ended_at.is_not(None))
            .where(matches.c.rated, matches.c.winner != 0)
            .order_by(matches.c.ended_at, matches.c.id)
        )
        with self._database.reading() as connection:
            return [
                RatedMatch(match, (then1, then2), (now1, now2), winner, at, tournament)
                for match, then1, then2, now1, now2, winner, at, tournament in connection.execute(
                    chosen
                )
            ]


# Whose matches.


def _account_like(connection: sa.Connection, name: str) -> Account | None:
    chosen = sa.select(accounts).where(accounts.c.skeleton == skeleton(name))
    row = connection.execute(chosen).one_or_none()
    return account_of(row) if row else None


def _of_account(account: Account) -> list[sa.ColumnElement[bool]]:
    """Conditions of which each match of an account meets one, with an index for each.

    Those that were imported have no account, but the name; only rated ones are never a guest's.
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


#: By player and game: how matches ended for it (1 a win, 2 a loss), how many, and when the last.
_Totals = dict[str, dict[str, list[tuple[int, int, float]]]]


def _totals(connection: sa.Connection, some: Iterable[Account], *names: str) -> _Totals:
    """Of accounts by their ids, of names without account by these."""
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
        chosen = sa.select(column, m.game, m.winner, sa.func.count(), sa.func.max(m.ended_at))
        chosen = chosen.where(column.in_(owners), m.ended_at.is_not(None), m.winner != 0, condition)
        for who, game, winner, count, last_at in connection.execute(
            chosen.group_by(column, m.game, m.winner)
        ):
            got = winner if seat == 1 or winner == TIE else 3 - winner
            games = found.setdefault(owners[who], {})
            games.setdefault(game, []).append((got, count, last_at))
    return found


def _summed(some: Iterable[tuple[int, int, float]]) -> PlayerTotals:
    counts: dict[int, int] = defaultdict(int)
    last: float | None = None
    for got, count, last_at in some:
        counts[got] += count
        last = last_at if last is None else max(last, last_at)
    won, tied, lost = counts[WON], counts[TIE], counts[LOST]
    return PlayerTotals(matches=won + tied + lost, won=won, tied=tied, lost=lost, last_at=last)


def linked(ids: tuple[str | None, str | None], rated: bool) -> tuple[bool, bool]:
    """Has each of the players a page? Guests have none, and play no rated matches."""
    first, second = (rated or each is not None for each in ids)
    return first, second


# Statements.


def _latest(
    branches: Sequence[sa.ColumnElement[bool]], first: int, count: int
) -> sa.Select[tuple[Any, ...]]:
    """Matches that meet one of some conditions; of each of these an index gives the latest."""
    order = (matches.c.ended_at.desc(), matches.c.id.desc())
    cut = [sa.select(matches.c.id).where(each).order_by(*order).limit(first + count)
           for each in branches]  # fmt: skip
    ids = sa.union_all(*(sa.select(each.subquery().c.id) for each in cut))
    plies = sa.select(sa.func.count()).where(moves.c.match == matches.c.id).scalar_subquery()
    chosen = sa.select(matches, plies.label("plies")).where(matches.c.id.in_(ids))
    return chosen.order_by(*order).offset(first).limit(count)


def _line() -> sa.ScalarSelect[Any]:
    """The moves of a match as one text, without sending each."""
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


def cut(items: Sequence[T], page: int, per_page: int) -> ResultPage[T]:
    """One page of all items."""
    first = per_page * (page - 1)
    return paged(items[first : first + per_page], page, per_page, len(items))


def paged(items: Sequence[T], page: int, per_page: int, total: int) -> ResultPage[T]:
    """The items of one page, of so many in all."""
    return ResultPage(tuple(items), page, max(1, -(-total // per_page)), total)


def _match_row(row: sa.Row[Any]) -> MatchRow:
    return MatchRow(
        match=row.id,
        game=row.game,
        players=(row.first, row.second),
        linked=linked((row.first_account, row.second_account), row.rated),
        clock=row.clock,
        rated=row.rated,
        plies=row.plies,
        begun_at=row.begun_at,
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
    spec = loads(row.spec)
    return TournamentRow(
        tournament=row.id,
        name=row.name,
        format=spec.format,
        games=spec.games,
        entrants=tuple(each.name for each in spec.entrants),
        matches=row.matches,
        begun_at=row.begun_at,
        ended_at=row.ended_at,
    )


def _sitting(row: sa.Row[Any]) -> StoredGame:
    return StoredGame(
        begun_of(row),
        None if row.ended_at is None else finished_of(row),
        tuple(map(int, (row.line or "").split())),
    )
