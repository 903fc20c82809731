"""The statements with which records are written, compiled once."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy.dialects import postgresql, sqlite

from server.model.records import (
    Account,
    EntrantWithdrawn,
    LadderRating,
    MatchEnded,
    MatchStarted,
    MovePlayed,
    MovesTakenBack,
    Record,
    SeatTakenOver,
    TournamentCreated,
    TournamentEnded,
)
from server.storage.rows import (
    AccountColumns,
    LadderRatingColumns,
    MatchColumns,
    MatchEndValues,
    MoveColumns,
    TakebackValues,
    TakeOverValues,
    TournamentColumns,
    TournamentEndValues,
    WithdrawalColumns,
)
from server.storage.schema import accounts, ladder_ratings, matches, moves, tournaments, withdrawals

#: What distinguishes the parameters of an update from the columns, which SQLAlchemy reserves.
_PREFIX = "its_"


class Write:
    """A statement that is compiled once, and the class of the structs that have its values.

    The driver executes it. SQLAlchemy's own way takes 0.2 ms more where a move comes every 10 ms:
    by then, none of its code is in the processor's caches any more.
    """

    def __init__(
        self,
        statement: sa.Insert | sa.Update | sa.Delete,
        row: type[Struct],
        dialect: sa.Dialect,
    ) -> None:
        """The fields of `row` are the columns of an insert, otherwise the parameters."""
        fields = row.__struct_fields__
        keys = fields if isinstance(statement, sa.Insert) else None
        compiled: Any = statement.compile(dialect=dialect, column_keys=keys)
        self._text = str(compiled)
        names = [name.removeprefix(_PREFIX) for name in compiled.positiontup]
        self._order = [fields.index(name) for name in names]
        self._ordered = self._order == list(range(len(fields)))

    def execute(self, cursor: Any, rows: list[tuple[Any, ...]]) -> None:
        """Execute it with each row in turn: the values of a struct, in the order of its fields."""
        if not self._ordered:
            rows = [tuple(row[place] for place in self._order) for row in rows]
        cursor.executemany(self._text, rows)


def insert(kind: str, table: sa.Table) -> Any:
    """Return an insert into a table for a kind of database, which knows `on_conflict...`."""
    return postgresql.insert(table) if kind == "postgresql" else sqlite.insert(table)


def writes(kind: str, dialect: sa.Dialect) -> dict[type[Record], Write]:
    """Return the statement of each kind of record, in the order in which they are executed.

    A move after a takeback is made only when the takeback is stored. So records that are stored
    together have the moves before the takeback.
    """

    def add(table: sa.Table, row: type[Struct]) -> Write:
        return Write(insert(kind, table).on_conflict_do_nothing(), row, dialect)

    return {
        Account: add(accounts, AccountColumns),
        TournamentCreated: add(tournaments, TournamentColumns),
        MatchStarted: add(matches, MatchColumns),
        MovePlayed: add(moves, MoveColumns),
        MovesTakenBack: Write(_TAKE_BACK, TakebackValues, dialect),
        EntrantWithdrawn: add(withdrawals, WithdrawalColumns),
        SeatTakenOver: Write(_TAKE_OVER, TakeOverValues, dialect),
        MatchEnded: Write(_END_MATCH, MatchEndValues, dialect),
        LadderRating: add(ladder_ratings, LadderRatingColumns),
        TournamentEnded: Write(_END_TOURNAMENT, TournamentEndValues, dialect),
    }


def _value(name: str, type_: Any = None) -> sa.BindParameter[Any]:
    return sa.bindparam(f"{_PREFIX}{name}", type_=type_)


def _session_of(seat: str, column: sa.Column[Any]) -> sa.Case[Any]:
    """Return the new value of a column: the session that takes over, if the seat is this one."""
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
_END_MATCH = (
    sa.update(matches)
    .where(matches.c.id == _value("match"), matches.c.ended_at.is_(None))
    .values({name: _value(name) for name in MatchEndValues.__struct_fields__ if name != "match"})
)
_END_TOURNAMENT = (
    sa.update(tournaments)
    .where(tournaments.c.id == _value("tournament"), tournaments.c.ended_at.is_(None))
    .values(ended_at=_value("ended_at"))
)
