"""Matches on a cluster: the speed of the cores that the players think on."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """From what pages ask for."""
    op.add_column("matches", sa.Column("core_speed", sa.Double))
