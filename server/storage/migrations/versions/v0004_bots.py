"""Bots that the server starts: which player it was."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """From what pages ask for."""
    for column in ("first_bot", "second_bot"):
        op.add_column("matches", sa.Column(column, sa.Text))
