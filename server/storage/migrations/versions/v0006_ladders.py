"""Ladders: the pair that a match belongs to, and the versions of its players."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add columns for matches of ladders, and an index of these matches."""
    for name in ("ladder_pair", "first_version", "second_version"):
        op.add_column("matches", sa.Column(name, sa.Text))
    of_ladders = sa.text("ladder_pair IS NOT NULL")
    op.create_index(
        "matches_ladder",
        "matches",
        ["ladder_pair"],
        sqlite_where=of_ladders,
        postgresql_where=of_ladders,
    )
