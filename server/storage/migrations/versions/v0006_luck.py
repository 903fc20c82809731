"""Add the luck of the rolls of matches with chance."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the column of the luck, and the index of the matches whose luck is not known."""
    op.add_column("matches", sa.Column("luck", sa.Text))
    where = sa.text("dice_key IS NOT NULL AND luck IS NULL AND winner <> 0")
    op.create_index(
        "matches_unmeasured", "matches", ["id"], sqlite_where=where, postgresql_where=where
    )
