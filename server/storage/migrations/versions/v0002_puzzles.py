"""Add puzzles, and attempts to solve them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the tables of puzzles and of attempts."""
    op.create_table(
        "puzzles",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("game", sa.Text, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
    )
    op.create_index("puzzles_game", "puzzles", ["game"])
    op.create_table(
        "puzzle_attempts",
        sa.Column("puzzle", sa.Text, sa.ForeignKey("puzzles.id"), primary_key=True),
        sa.Column("account", sa.Text, primary_key=True),
        sa.Column("moves", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sqlite_with_rowid=False,
    )
