"""The tables of a database, derived from the records, and the records of their rows.

A change needs a new file in `migrations/versions`. Times are seconds since 1970.
"""

from __future__ import annotations

from typing import Any, TypeVar

import sqlalchemy as sa
from msgspec import Struct, inspect, structs
from sqlalchemy import Boolean, Column, Double, ForeignKey, Index, Integer, MetaData, Table, Text

from playout.server.model.records import (
    Account,
    EntrantWithdrawn,
    LadderRating,
    MatchEnded,
    MatchStarted,
    MovePlayed,
    PuzzleAttempted,
    StoredLeaderboard,
    StoredRatingPoint,
    TournamentCreated,
    TournamentEnded,
)

R = TypeVar("R", bound=Struct)

metadata = MetaData()

#: The types of columns by those of fields.
_TYPES: dict[type[inspect.Type], type[sa.types.TypeEngine[Any]]] = {
    inspect.StrType: Text,
    inspect.EnumType: Text,
    inspect.BoolType: Boolean,
    inspect.IntType: Integer,
    inspect.FloatType: Double,
}


def _table(
    name: str, record: type[Struct], *more: Any, keys: int = 1, parent: Table | None = None
) -> Table:
    """Return a table with the columns of a record, of which the first `keys` are the primary key.

    `more` are further columns and indexes. The first column refers to the rows of `parent`. With
    several keys, SQLite keeps the rows in the order of the primary key.
    """
    columns = _columns(record)
    for column in columns[:keys]:
        column.primary_key = True
    if parent is not None:
        columns[0].append_foreign_key(ForeignKey(parent.c.id))
    return Table(name, metadata, *columns, *more, sqlite_with_rowid=keys == 1)


def _columns(record: type[Struct], *, nullable: bool = False) -> list[Column[Any]]:
    """Return the columns of a record; with `nullable`, all may be null."""
    found = []
    for field in structs.fields(record):
        info = inspect.type_info(field.type)
        types = info.types if isinstance(info, inspect.UnionType) else (info,)
        (kind,) = (each for each in types if not isinstance(each, inspect.NoneType))
        type_ = sa.SmallInteger if _is_small(kind) else _TYPES[type(kind)]
        found.append(Column(field.encode_name, type_, nullable=nullable or len(types) > 1))
    return found


def _is_small(kind: inspect.Type) -> bool:
    """Return whether all values are small numbers: seats and winners."""
    is_bounded = isinstance(kind, inspect.IntType) and kind.le is not None and kind.le < 2**15
    return is_bounded or isinstance(kind, inspect.LiteralType)


def _end(record: type[Struct]) -> list[Column[Any]]:
    """Return the columns of the record of an end, null until then; not the id, which is known."""
    return _columns(record, nullable=True)[1:]


def record_of(kind: type[R], row: sa.Row[Any], **others: Any) -> R:
    """Return the record of a row that has its columns; `others` are fields with other values."""
    names = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    return kind(**{field: getattr(row, column) for field, column in names} | others)


#: `skeleton` follows from the name. `revision` grows with each change by an operator, so that a
#: running server finds the changes.
accounts = _table(
    "accounts",
    Account,
    Column("skeleton", Text, nullable=False, unique=True),
    Column("revision", Integer, nullable=False),
)

tournaments = _table("tournaments", TournamentCreated, *_end(TournamentEnded))

#: Withdrawn entrants, by number in the specification, in the order in which they withdrew.
withdrawals = _table("withdrawals", EntrantWithdrawn, keys=2, parent=tournaments)

matches = _table("matches", MatchStarted, *_end(MatchEnded))

moves = _table("moves", MovePlayed, keys=2, parent=matches)


def _index(name: str, *columns: str, where: sa.ColumnElement[bool] | None = None) -> None:
    """Add an index of the matches that meet a condition, or of all."""
    given = [matches.c[each] for each in columns]
    Index(f"matches_{name}", *given, sqlite_where=where, postgresql_where=where)


#: Rated matches that were imported: their players have names only, no accounts.
IMPORTED = sa.and_(
    matches.c.first_account.is_(None), matches.c.second_account.is_(None), matches.c.rated
)
_index("unfinished", "id", where=matches.c.ended_at.is_(None))
#: Matches with rolls and a result whose luck is not known.
UNMEASURED = sa.and_(
    matches.c.dice_key.is_not(None), matches.c.luck.is_(None), matches.c.winner != 0
)
_index("unmeasured", "id", where=UNMEASURED)
_index("ladder", "ladder_pair", where=matches.c.ladder_pair.is_not(None))
_index("tournament", "tournament", "ended_at")
# For lists of matches, with all columns that filter and order them: see `results`.
_index("ended", "ended_at", "id", "winner")
_index("game", "game", "ended_at", "id", "winner")
for _seat, _other in (("first", "second"), ("second", "first")):
    _listed = ("ended_at", "id", "game", "winner", _other)
    _index(_seat, _seat, *_listed)
    _index(f"{_seat}_account", f"{_seat}_account", *_listed)
    # With the columns of the condition, which SQLite would otherwise look up in the rows.
    _condition = ("first_account", "second_account", "rated")
    _index(f"{_seat}_imported", _seat, *_listed, *_condition, where=IMPORTED)

#: The results of each player by game, updated in the transaction that ends a match. `player` is the
#: id of an account or, if `imported`, a name in rated matches without accounts.
player_totals = Table(
    "player_totals",
    metadata,
    Column("player", Text, primary_key=True),
    Column("imported", Boolean, primary_key=True),
    Column("game", Text, primary_key=True),
    Column("won", Integer, nullable=False),
    Column("tied", Integer, nullable=False),
    Column("lost", Integer, nullable=False),
    Column("last_at", Double, nullable=False),
    sqlite_with_rowid=False,
)

#: `ended` is -1 if an account was renamed or a tournament reported since the ratings were computed.
leaderboards = _table("leaderboards", StoredLeaderboard, keys=2)

ladder_ratings = _table("ladder_ratings", LadderRating, keys=4)

rating_points = _table("rating_points", StoredRatingPoint, keys=4)

#: `data` is the puzzle as JSON, with its solution.
puzzles = Table(
    "puzzles",
    metadata,
    Column("id", Text, primary_key=True),
    Column("game", Text, nullable=False),
    Column("data", Text, nullable=False),
    Index("puzzles_game", "game"),
)

#: One row: the random id of the database, by which readers of feeds tell servers apart.
identity = Table("identity", metadata, Column("id", Text, primary_key=True))

puzzle_attempts = _table("puzzle_attempts", PuzzleAttempted, keys=2, parent=puzzles)
