"""Ladders: the ratings of versions over time."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the table of ratings."""
    op.create_table(
        "ladder_ratings",
        sa.Column("game", sa.Text, primary_key=True),
        sa.Column("account", sa.Text, primary_key=True),
        sa.Column("version", sa.Text, primary_key=True),
        sa.Column("matches", sa.Integer, primary_key=True),
        sa.Column("rating", sa.Double, nullable=False),
        sa.Column("error", sa.Double, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sqlite_with_rowid=False,
    )
