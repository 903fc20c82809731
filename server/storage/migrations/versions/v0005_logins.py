"""Add passwords and logins to accounts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the columns, empty for the accounts that there are."""
    for name in ("password", "logins"):
        op.add_column("accounts", sa.Column(name, sa.Text, nullable=False, server_default=""))
