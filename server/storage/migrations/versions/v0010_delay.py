"""Add the number of moves by which spectators see a match later."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the column of the delay, 0 for the matches so far."""
    empty = sa.Column("delay", sa.Integer, nullable=False, server_default=sa.text("0"))
    op.add_column("matches", empty)
