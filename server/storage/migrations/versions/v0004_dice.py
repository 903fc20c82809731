"""Add the keys from which the rolls of matches with chance follow."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the column of the keys, which is null for games without chance."""
    op.add_column("matches", sa.Column("dice_key", sa.Text))
