"""Add the seat that never made a first move in a match."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column, which is null for matches of earlier versions."""
    op.add_column("matches", sa.Column("missing", sa.SmallInteger))
