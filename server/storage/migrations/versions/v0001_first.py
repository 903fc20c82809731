"""Create the tables for accounts, matches and moves."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables in an empty database."""
    op.create_table(
        "accounts",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("skeleton", sa.Text, nullable=False, unique=True),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("administrator", sa.Boolean, nullable=False),
        sa.Column("revoked", sa.Boolean, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
    )
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
        sa.Column("begun_at", sa.Double, nullable=False),
        sa.Column("winner", sa.SmallInteger),
        sa.Column("first_return", sa.Double),
        sa.Column("second_return", sa.Double),
        sa.Column("reason", sa.Text),
        sa.Column("text", sa.Text),
        sa.Column("ended_at", sa.Double),
    )
    unfinished = sa.text("ended_at IS NULL")
    op.create_index(
        "matches_unfinished",
        "matches",
        ["id"],
        sqlite_where=unfinished,
        postgresql_where=unfinished,
    )
    op.create_index("matches_ended_at", "matches", ["ended_at"])
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
