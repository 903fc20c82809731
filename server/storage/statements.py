"""The statements that write records, compiled once, and the rows of records.

A row has the values of a record's fields, and those that follow from them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import sqlalchemy as sa
from msgspec import structs
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import psycopg

from playout.games import TIE
from playout.protocol.names import skeleton
from playout.server.model.records import (
    Account,
    AccountLocked,
    AccountRenamed,
    EntrantWithdrawn,
    LadderRating,
    LuckMeasured,
    MatchEnded,
    MatchStarted,
    MovePlayed,
    MovesTakenBack,
    PuzzleAttempted,
    Record,
    SeatTakenOver,
    SecretsChanged,
    StoredLeaderboard,
    StoredRatingPoint,
    TokenRenewed,
    TournamentChanged,
    TournamentCreated,
    TournamentEnded,
)
from playout.server.storage.schema import (
    accounts,
    ladder_ratings,
    leaderboards,
    matches,
    moves,
    player_totals,
    puzzle_attempts,
    puzzles,
    rating_points,
    tournaments,
    withdrawals,
)

#: The dialects of the engines that `engine.open_engine` returns; their parameters are positional.
_DIALECTS: dict[str, sa.Dialect] = {
    "sqlite": sqlite.dialect(),
    "postgresql": psycopg.dialect(paramstyle="format"),  # type: ignore[no-untyped-call]
}
#: The prefix of the parameters of an update: SQLAlchemy reserves the names of the columns.
PREFIX = "its_"

#: The columns that follow from the fields of a record, and the function that returns their values.
_DERIVED: dict[type[Record], tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]] = {
    Account: (("skeleton", "revision"), lambda account: (skeleton(account.name), 0)),
    AccountRenamed: (("skeleton",), lambda renamed: (skeleton(renamed.name),)),
}


def columns_of(kind: type[Record]) -> tuple[str, ...]:
    """Return the names of the values in a row of a record."""
    return kind.__struct_encode_fields__ + (_DERIVED[kind][0] if kind in _DERIVED else ())


def row_of(record: Record) -> tuple[Any, ...]:
    """Return the values of a record for its statements."""
    kind, row = type(record), structs.astuple(record)
    return row + _DERIVED[kind][1](record) if kind in _DERIVED else row


class Write:
    """A statement that writes records of one type, compiled once.

    The driver executes it. SQLAlchemy itself takes 0.2 ms more when a move is stored every 10 ms,
    because its code has left the processor's caches by then.
    """

    def __init__(
        self, statement: sa.Insert | sa.Update | sa.Delete, kind: type[Record], dialect: sa.Dialect
    ) -> None:
        """An insert of values has the columns of the record; others have them as parameters."""
        columns = columns_of(kind)
        is_of_values = isinstance(statement, sa.Insert) and statement.select is None
        keys = columns if is_of_values else None
        compiled: Any = statement.compile(dialect=dialect, column_keys=keys)
        self._text = str(compiled)
        names = [name.removeprefix(PREFIX) for name in compiled.positiontup]
        self._order = [columns.index(name) for name in names]
        self._ordered = self._order == list(range(len(columns)))

    def execute(self, cursor: Any, rows: list[tuple[Any, ...]]) -> None:
        """Execute the statement with each row in turn: see `row_of`."""
        if not self._ordered:
            rows = [tuple(row[place] for place in self._order) for row in rows]
        cursor.executemany(self._text, rows)


def insert(kind: str, table: sa.Table) -> Any:
    """Return an insert into a table with `on_conflict...`, for a kind of database."""
    return postgresql.insert(table) if kind == "postgresql" else sqlite.insert(table)


@cache
def writes(kind: str) -> dict[type[Record], tuple[Write, ...]]:
    """Return the statements of each type of record for a kind of database, in their order.

    A move after a takeback is made only when the takeback is stored. So among records that are
    stored together, all moves come before the takeback.
    """
    dialect = _DIALECTS[kind]
    statements: dict[type[Record], tuple[sa.Insert | sa.Update | sa.Delete, ...]] = {
        Account: (_add(kind, accounts),),
        TokenRenewed: (_RENEW_TOKEN,),
        SecretsChanged: (_CHANGE_SECRETS,),
        AccountLocked: (_LOCK_ACCOUNT,),
        AccountRenamed: (_RENAME_ACCOUNT, *RENAME_IN_RATINGS),
        TournamentCreated: (_add(kind, tournaments),),
        MatchStarted: (_add(kind, matches),),
        MovePlayed: (_add(kind, moves),),
        MovesTakenBack: (_TAKE_BACK,),
        EntrantWithdrawn: (_add(kind, withdrawals),),
        SeatTakenOver: (_TAKE_OVER,),
        # The totals come before the end, so that an ended match is not counted again.
        MatchEnded: (_count_result(kind, 1), _count_result(kind, 2), _END_MATCH),
        LuckMeasured: (_MEASURE_LUCK,),
        LadderRating: (_add(kind, ladder_ratings),),
        StoredLeaderboard: (_put(kind, leaderboards),),
        StoredRatingPoint: (_add(kind, rating_points),),
        TournamentChanged: (_CHANGE_TOURNAMENT,),
        TournamentEnded: (_END_TOURNAMENT, _RATE_REPORTED),
        PuzzleAttempted: (_add_attempt(kind),),
    }
    return {
        record: tuple(Write(each, record, dialect) for each in some)
        for record, some in statements.items()
    }


def _add(kind: str, table: sa.Table) -> Any:
    """Return the statement that adds a row, unless there is one with its key."""
    return insert(kind, table).on_conflict_do_nothing()


def _put(kind: str, table: sa.Table) -> Any:
    """Return the statement that adds a row, or replaces that with its key."""
    added = insert(kind, table)
    key = [column.name for column in table.primary_key]
    changed = {c.name: added.excluded[c.name] for c in table.columns if not c.primary_key}
    return added.on_conflict_do_update(index_elements=key, set_=changed)


def _add_attempt(kind: str) -> Any:
    """Return the statement that adds an attempt, if it is the first one at a known puzzle."""
    names = [column.name for column in puzzle_attempts.columns]
    types = {column.name: column.type for column in puzzle_attempts.columns}
    values = [puzzles.c.id, *(_value(name, types[name]) for name in names[1:])]
    known = sa.select(*values).where(puzzles.c.id == _value("puzzle"))
    return insert(kind, puzzle_attempts).from_select(names, known).on_conflict_do_nothing()


def _count_result(kind: str, seat: int) -> Any:
    """Return the statement that counts a result for the player in a seat, except for guests."""
    m = matches.c
    account, other, name = (
        (m.first_account, m.second_account, m.first)
        if seat == 1
        else (m.second_account, m.first_account, m.second)
    )
    winner = _value("winner", sa.Integer)
    won, tied, lost = (
        sa.case((winner == _number(each), _number(1)), else_=_number(0))
        for each in (seat, TIE, 3 - seat)
    )
    result = sa.select(
        sa.func.coalesce(account, name),
        account.is_(None),
        m.game,
        won,
        tied,
        lost,
        _value("ended_at", sa.Double),
    ).where(
        m.id == _value("id"),
        m.ended_at.is_(None),
        winner != _number(0),
        sa.or_(account.is_not(None), sa.and_(other.is_(None), m.rated)),
    )
    t = player_totals.c
    counted = insert(kind, player_totals).from_select([column.name for column in t], result)
    new = counted.excluded
    changed = {name: t[name] + new[name] for name in ("won", "tied", "lost")}
    later = sa.case((new.last_at > t.last_at, new.last_at), else_=t.last_at)
    return counted.on_conflict_do_update(
        index_elements=["player", "imported", "game"], set_=changed | {"last_at": later}
    )


def _value(name: str, type_: Any = None) -> sa.BindParameter[Any]:
    return sa.bindparam(f"{PREFIX}{name}", type_=type_)


def _number(value: int) -> sa.ColumnElement[int]:
    """Return a number as part of a statement's text, not as a parameter."""
    return sa.literal_column(str(value), sa.Integer)


def _session_of(seat: str, column: sa.Column[Any]) -> sa.Case[Any]:
    """Return the new value of a column: for this seat, the session that takes over."""
    its_seat, its_session = _value("seat", sa.Integer), _value("session", sa.Text)
    return sa.case((sa.literal_column(seat) == its_seat, its_session), else_=column)


_TAKE_BACK = sa.delete(moves).where(moves.c.match == _value("match"), moves.c.ply >= _value("ply"))
_TAKE_OVER = (
    sa.update(matches)
    .where(matches.c.id == _value("match"))
    .values(
        first_session=_session_of("1", matches.c.first_session),
        second_session=_session_of("2", matches.c.second_session),
    )
)
_ITS_ACCOUNT = accounts.c.id == _value("account")
#: It does not undo what an operator has changed meanwhile.
_ITS_TOKEN = accounts.c.digest == _value("before")
_RENEW_TOKEN = (
    sa.update(accounts)
    .where(_ITS_ACCOUNT, _ITS_TOKEN)
    .values({name: _value(name) for name in ("digest", "token_at", "renewal")})
)
_LOCK_ACCOUNT = sa.update(accounts).where(_ITS_ACCOUNT).values(revoked=_value("revoked"))
_CHANGE_SECRETS = (
    sa.update(accounts)
    .where(_ITS_ACCOUNT, _ITS_TOKEN)
    .values(
        {name: _value(name) for name in ("digest", "token_at", "renewal", "password", "logins")}
    )
)
_RENAME_ACCOUNT = (
    sa.update(accounts)
    .where(_ITS_ACCOUNT)
    .values({name: _value(name) for name in ("name", "skeleton")})
)
#: Move the history of a player's ratings from the name `before` to its new name, and mark all
#: ratings as outdated. A history that the new name has from imported matches is lost.
RENAME_IN_RATINGS: tuple[sa.Update | sa.Delete, ...] = (
    sa.update(leaderboards).values(ended=_number(-1)),
    sa.delete(rating_points).where(rating_points.c.name == _value("name")),
    *(
        sa.update(rating_points)
        .where(column == _value("before"))
        .values({column.name: _value("name")})
        for column in (rating_points.c.name, rating_points.c.anchor)
    ),
)
_END_MATCH = (
    sa.update(matches)
    .where(matches.c.id == _value("id"), matches.c.ended_at.is_(None))
    .values({name: _value(name) for name in columns_of(MatchEnded) if name != "id"})
)
_MEASURE_LUCK = sa.update(matches).where(matches.c.id == _value("id")).values(luck=_value("luck"))
_CHANGE_TOURNAMENT = (
    sa.update(tournaments)
    .where(tournaments.c.id == _value("id"))
    .values(spec=_value("spec"), paused=_value("paused"))
)
_END_TOURNAMENT = (
    sa.update(tournaments)
    .where(tournaments.c.id == _value("id"), tournaments.c.ended_at.is_(None))
    .values(ended_at=_value("ended_at"))
)
#: Mark the ratings of the games of a reported tournament as outdated: its matches, which no session
#: has played here, count now.
_RATE_REPORTED = (
    sa.update(leaderboards)
    .where(
        leaderboards.c.game.in_(
            sa.select(matches.c.game).where(
                matches.c.tournament == _value("id"),
                matches.c.first_session == sa.literal_column("''", sa.Text),
            )
        )
    )
    .values(ended=_number(-1))
)
