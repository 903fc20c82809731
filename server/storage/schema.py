"""The tables. A change needs a new file in `migrations/versions`.

Times are seconds since 1970.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    Table,
    Text,
    text,
)

metadata = MetaData()

#: `revision` grows with each change by an operator, by which a running server finds the changes.
accounts = Table(
    "accounts",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("skeleton", Text, nullable=False, unique=True),
    Column("digest", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("administrator", Boolean, nullable=False),
    Column("revoked", Boolean, nullable=False),
    Column("revision", Integer, nullable=False),
)

#: The accounts of guests are null, and so are the columns of the end until a match has ended. The
#: columns of bots have the player of a bot that the server started, so that it can start it again.
#: A match of a ladder has the id of the first match of its pair, and the versions of its players.
matches = Table(
    "matches",
    metadata,
    Column("id", Text, primary_key=True),
    Column("game", Text, nullable=False),
    Column("first", Text, nullable=False),
    Column("second", Text, nullable=False),
    Column("first_account", Text),
    Column("second_account", Text),
    Column("first_session", Text, nullable=False),
    Column("second_session", Text, nullable=False),
    Column("clock", Text, nullable=False),
    Column("rated", Boolean, nullable=False),
    Column("illegal_moves", Integer, nullable=False),
    Column("credit_cap_s", Double, nullable=False),
    Column("started_at", Double, nullable=False),
    Column("winner", SmallInteger),
    Column("first_return", Double),
    Column("second_return", Double),
    Column("reason", Text),
    Column("text", Text),
    Column("ended_at", Double),
    Column("opening", Integer, nullable=False, server_default=text("0")),
    Column("max_plies", Integer, nullable=False, server_default=text("0")),
    Column("tournament", Text),
    Column("fixture", Text),
    Column("first_bot", Text),
    Column("second_bot", Text),
    Column("ladder_pair", Text),
    Column("first_version", Text),
    Column("second_version", Text),
)
Index("matches_unfinished", matches.c.id, sqlite_where=matches.c.ended_at.is_(None),
      postgresql_where=matches.c.ended_at.is_(None))  # fmt: skip
Index("matches_ended_at", matches.c.ended_at)
Index("matches_tournament", matches.c.tournament)
Index("matches_ladder", matches.c.ladder_pair, sqlite_where=matches.c.ladder_pair.is_not(None),
      postgresql_where=matches.c.ladder_pair.is_not(None))  # fmt: skip
for _name in ("game", "first", "second", "first_account", "second_account"):
    Index(f"matches_{_name}", matches.c[_name], matches.c.ended_at)

#: Clocks as they were after the move, null without a clock; `info` is the analysis as JSON.
moves = Table(
    "moves",
    metadata,
    Column("match", Text, ForeignKey("matches.id"), primary_key=True),
    Column("ply", Integer, primary_key=True),
    Column("seat", SmallInteger, nullable=False),
    Column("action", Integer, nullable=False),
    Column("first_main_s", Double),
    Column("first_periods", Integer),
    Column("second_main_s", Double),
    Column("second_periods", Integer),
    Column("info", Text),
    Column("at", Double, nullable=False),
    sqlite_with_rowid=False,
)

#: The ratings of versions on ladders over time; `matches` is how many matches a version had played.
ladder_ratings = Table(
    "ladder_ratings",
    metadata,
    Column("game", Text, primary_key=True),
    Column("account", Text, primary_key=True),
    Column("version", Text, primary_key=True),
    Column("matches", Integer, primary_key=True),
    Column("rating", Double, nullable=False),
    Column("error", Double, nullable=False),
    Column("at", Double, nullable=False),
    sqlite_with_rowid=False,
)

#: `spec` is the specification as JSON.
tournaments = Table(
    "tournaments",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("spec", Text, nullable=False),
    Column("started_at", Double, nullable=False),
    Column("ended_at", Double),
)

#: Withdrawn entrants, by number in the specification, in the order in which they withdrew.
withdrawals = Table(
    "withdrawals",
    metadata,
    Column("tournament", Text, ForeignKey("tournaments.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("entrant", Integer, nullable=False),
    Column("at", Double, nullable=False),
    sqlite_with_rowid=False,
)
