"""The tables of a database. A change needs a new file in `migrations/versions`.

Times are seconds since 1970.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    Table,
    Text,
    and_,
    text,
)

metadata = MetaData()


def _history(name: str, player: str, *texts: str) -> Table:
    """Return a table of ratings over time, each after a number of a player's `matches`.

    `player` is the column that identifies the player, `texts` are further columns.
    """
    return Table(
        name,
        metadata,
        Column("game", Text, primary_key=True),
        Column(player, Text, primary_key=True),
        Column("version", Text, primary_key=True),
        Column("matches", Integer, primary_key=True),
        Column("rating", Double, nullable=False),
        Column("error", Double, nullable=False),
        *(Column(each, Text, nullable=False) for each in texts),
        Column("at", Double, nullable=False),
        sqlite_with_rowid=False,
    )


def _partial_index(name: str, condition: ColumnElement[bool], *columns: Column[Any]) -> None:
    """Add an index of the matches that meet a condition."""
    Index(name, *columns, sqlite_where=condition, postgresql_where=condition)


#: `revision` grows with each change by an operator, so that a running server finds the changes.
accounts = Table(
    "accounts",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("skeleton", Text, nullable=False, unique=True),
    Column("digest", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("token_at", Double),
    Column("renewal", Text, nullable=False),
    Column("administrator", Boolean, nullable=False),
    Column("revoked", Boolean, nullable=False),
    Column("revision", Integer, nullable=False),
)

#: The accounts of guests are null, and until a match has ended also the columns of its end. The
#: columns of bots have the player of a bot that the server started, so that it can start it again.
#: A match of a ladder has the id of the first match of its pair, and the versions of its players; a
#: match on a cluster has the speed of its cores, in calibrations per second. `missing` is the seat
#: that never made a first move, if the match ended for that.
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
    Column("core_speed", Double),
    Column("missing", SmallInteger),
)
#: Rated matches that were imported: their players have names only, no accounts.
IMPORTED = and_(
    matches.c.first_account.is_(None), matches.c.second_account.is_(None), matches.c.rated
)
_partial_index("matches_unfinished", matches.c.ended_at.is_(None), matches.c.id)
_partial_index("matches_ladder", matches.c.ladder_pair.is_not(None), matches.c.ladder_pair)
Index("matches_tournament", matches.c.tournament, matches.c.ended_at)
# For lists of matches, with all columns that filter and order them: see `results`.
Index("matches_ended", matches.c.ended_at, matches.c.id, matches.c.winner)
Index("matches_game", matches.c.game, matches.c.ended_at, matches.c.id, matches.c.winner)
for _seat, _other in (("first", "second"), ("second", "first")):
    _listed = [matches.c[each] for each in ("ended_at", "id", "game", "winner", _other)]
    Index(f"matches_{_seat}", matches.c[_seat], *_listed)
    Index(f"matches_{_seat}_account", matches.c[f"{_seat}_account"], *_listed)
    # With the columns of the condition, which SQLite would otherwise look up in the rows.
    _listed += [matches.c[each] for each in ("first_account", "second_account", "rated")]
    _partial_index(f"matches_{_seat}_imported", IMPORTED, matches.c[_seat], *_listed)

#: The clocks are those after the move, null without a clock; `info` is the analysis as JSON.
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

#: The ratings of each game, `data` as JSON, computed after `ended` matches, of which the last ended
#: at `last_at`; `ended` is -1 if an account was renamed since. `rated` of the matches count.
leaderboards = Table(
    "leaderboards",
    metadata,
    Column("game", Text, primary_key=True),
    Column("ended", Integer, nullable=False),
    Column("last_at", Double, nullable=False),
    Column("rated", Integer, nullable=False),
    Column("data", Text, nullable=False),
)

#: The ratings of versions on ladders over time. `account` is the id of the version's account.
ladder_ratings = _history("ladder_ratings", "account")

#: The ratings of players over time, relative to the anchor of that time.
rating_points = _history("rating_points", "name", "anchor", "anchor_version")

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

#: `data` is the puzzle as JSON, with its solution.
puzzles = Table(
    "puzzles",
    metadata,
    Column("id", Text, primary_key=True),
    Column("game", Text, nullable=False),
    Column("data", Text, nullable=False),
    Index("puzzles_game", "game"),
)

#: The first attempt of each account at a puzzle: the moves of the solver, separated by commas, up
#: to the first mistake, the end, or where the solver asked for the solution.
puzzle_attempts = Table(
    "puzzle_attempts",
    metadata,
    Column("puzzle", Text, ForeignKey("puzzles.id"), primary_key=True),
    Column("account", Text, primary_key=True),
    Column("moves", Text, nullable=False),
    Column("at", Double, nullable=False),
    sqlite_with_rowid=False,
)
