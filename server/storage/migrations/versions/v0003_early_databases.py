"""Add what databases of the first days lack, whose versions 0001 and 0002 were other ones.

Until 24 November 2026 the first versions were changed in place. Later ones are not: a test compares
their digests.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the missing columns and tables; a database that has them stays as it is."""
    inspector = sa.inspect(op.get_bind())
    accounts = {each["name"] for each in inspector.get_columns("accounts")}
    matches = {each["name"] for each in inspector.get_columns("matches")}
    if "token_at" not in accounts:
        op.add_column("accounts", sa.Column("token_at", sa.Double))
    if "renewal" not in accounts:
        empty = sa.Column("renewal", sa.Text, nullable=False, server_default="")
        op.add_column("accounts", empty)
    if "missing" not in matches:
        op.add_column("matches", sa.Column("missing", sa.SmallInteger))
    if not inspector.has_table("puzzles"):
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
