"""Add the tables for tournaments."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """From accounts, matches and moves."""
    op.create_table(
        "tournaments",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("spec", sa.Text, nullable=False),
        sa.Column("begun_at", sa.Double, nullable=False),
        sa.Column("ended_at", sa.Double),
    )
    op.create_table(
        "suspensions",
        sa.Column("tournament", sa.Text, sa.ForeignKey("tournaments.id"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("entrant", sa.Integer, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sqlite_with_rowid=False,
    )
    for name in ("opening", "max_plies"):
        column = sa.Column(name, sa.Integer, nullable=False, server_default=sa.text("0"))
        op.add_column("matches", column)
    op.add_column("matches", sa.Column("tournament", sa.Text))
    op.add_column("matches", sa.Column("fixture", sa.Text))
    op.create_index("matches_tournament", "matches", ["tournament"])
