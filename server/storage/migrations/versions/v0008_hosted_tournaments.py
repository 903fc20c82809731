"""Add the tournaments whose entrants the server starts, and pauses."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the columns of tournaments that the server hosts, and of those that are paused."""
    op.add_column("tournaments", sa.Column("hosted", sa.Boolean))
    op.add_column("tournaments", sa.Column("paused", sa.Boolean))
