"""Store ratings of a game on several scales, and who has reported a match."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Create the table of ratings again, which the server fills from the matches."""
    op.drop_table("leaderboards")
    op.create_table(
        "leaderboards",
        sa.Column("game", sa.Text, primary_key=True),
        sa.Column("scale", sa.Text, primary_key=True),
        sa.Column("ended", sa.Integer, nullable=False),
        sa.Column("last_at", sa.Double, nullable=False),
        sa.Column("rated", sa.Integer, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.add_column("matches", sa.Column("reporter", sa.Text))
