"""Create all tables and indexes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables in an empty database."""
    _create_accounts()
    _create_tournaments()
    _create_matches()
    _create_match_indexes()
    _create_ratings()


def _create_accounts() -> None:
    op.create_table(
        "accounts",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("skeleton", sa.Text, nullable=False, unique=True),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("token_at", sa.Double),
        sa.Column("renewal", sa.Text, nullable=False),
        sa.Column("administrator", sa.Boolean, nullable=False),
        sa.Column("revoked", sa.Boolean, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
    )


def _create_tournaments() -> None:
    op.create_table(
        "tournaments",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("spec", sa.Text, nullable=False),
        sa.Column("started_at", sa.Double, nullable=False),
        sa.Column("ended_at", sa.Double),
    )
    op.create_table(
        "withdrawals",
        sa.Column("tournament", sa.Text, sa.ForeignKey("tournaments.id"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("entrant", sa.Integer, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sqlite_with_rowid=False,
    )


def _create_matches() -> None:
    op.create_table(
        "matches",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("game", sa.Text, nullable=False),
        sa.Column("first", sa.Text, nullable=False),
        sa.Column("second", sa.Text, nullable=False),
        sa.Column("first_account", sa.Text),
        sa.Column("second_account", sa.Text),
        sa.Column("first_session", sa.Text, nullable=False),
        sa.Column("second_session", sa.Text, nullable=False),
        sa.Column("clock", sa.Text, nullable=False),
        sa.Column("rated", sa.Boolean, nullable=False),
        sa.Column("illegal_moves", sa.Integer, nullable=False),
        sa.Column("credit_cap_s", sa.Double, nullable=False),
        sa.Column("started_at", sa.Double, nullable=False),
        sa.Column("winner", sa.SmallInteger),
        sa.Column("first_return", sa.Double),
        sa.Column("second_return", sa.Double),
        sa.Column("reason", sa.Text),
        sa.Column("text", sa.Text),
        sa.Column("ended_at", sa.Double),
        sa.Column("opening", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("max_plies", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("tournament", sa.Text),
        sa.Column("fixture", sa.Text),
        sa.Column("first_bot", sa.Text),
        sa.Column("second_bot", sa.Text),
        sa.Column("ladder_pair", sa.Text),
        sa.Column("first_version", sa.Text),
        sa.Column("second_version", sa.Text),
        sa.Column("core_speed", sa.Double),
        sa.Column("missing", sa.SmallInteger),
    )
    op.create_table(
        "moves",
        sa.Column("match", sa.Text, sa.ForeignKey("matches.id"), primary_key=True),
        sa.Column("ply", sa.Integer, primary_key=True),
        sa.Column("seat", sa.SmallInteger, nullable=False),
        sa.Column("action", sa.Integer, nullable=False),
        sa.Column("first_main_s", sa.Double),
        sa.Column("first_periods", sa.Integer),
        sa.Column("second_main_s", sa.Double),
        sa.Column("second_periods", sa.Integer),
        sa.Column("info", sa.Text),
        sa.Column("at", sa.Double, nullable=False),
        sqlite_with_rowid=False,
    )


def _create_match_indexes() -> None:
    _create_partial_index("unfinished", ["id"], "ended_at IS NULL")
    _create_partial_index("ladder", ["ladder_pair"], "ladder_pair IS NOT NULL")
    op.create_index("matches_tournament", "matches", ["tournament", "ended_at"])
    op.create_index("matches_ended", "matches", ["ended_at", "id", "winner"])
    op.create_index("matches_game", "matches", ["game", "ended_at", "id", "winner"])
    imported = "first_account IS NULL AND second_account IS NULL AND rated"
    for seat, other in (("first", "second"), ("second", "first")):
        listed = ["ended_at", "id", "game", "winner", other]
        op.create_index(f"matches_{seat}", "matches", [seat, *listed])
        op.create_index(f"matches_{seat}_account", "matches", [f"{seat}_account", *listed])
        columns = [seat, *listed, "first_account", "second_account", "rated"]
        _create_partial_index(f"{seat}_imported", columns, imported, f"{imported} = 1")


def _create_partial_index(
    name: str, columns: list[str], condition: str, sqlite_condition: str | None = None
) -> None:
    """Create an index of the matches that meet a condition; SQLite has no boolean type."""
    op.create_index(
        f"matches_{name}",
        "matches",
        columns,
        sqlite_where=sa.text(sqlite_condition or condition),
        postgresql_where=sa.text(condition),
    )


def _create_ratings() -> None:
    op.create_table(
        "player_totals",
        sa.Column("player", sa.Text, primary_key=True),
        sa.Column("imported", sa.Boolean, primary_key=True),
        sa.Column("game", sa.Text, primary_key=True),
        sa.Column("won", sa.Integer, nullable=False),
        sa.Column("tied", sa.Integer, nullable=False),
        sa.Column("lost", sa.Integer, nullable=False),
        sa.Column("last_at", sa.Double, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "leaderboards",
        sa.Column("game", sa.Text, primary_key=True),
        sa.Column("ended", sa.Integer, nullable=False),
        sa.Column("last_at", sa.Double, nullable=False),
        sa.Column("rated", sa.Integer, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
    )
    for name, player, more in (
        ("ladder_ratings", "account", ()),
        ("rating_points", "name", ("anchor", "anchor_version")),
    ):
        op.create_table(
            name,
            sa.Column("game", sa.Text, primary_key=True),
            sa.Column(player, sa.Text, primary_key=True),
            sa.Column("version", sa.Text, primary_key=True),
            sa.Column("matches", sa.Integer, primary_key=True),
            sa.Column("rating", sa.Double, nullable=False),
            sa.Column("error", sa.Double, nullable=False),
            *(sa.Column(each, sa.Text, nullable=False) for each in more),
            sa.Column("at", sa.Double, nullable=False),
            sqlite_with_rowid=False,
        )
