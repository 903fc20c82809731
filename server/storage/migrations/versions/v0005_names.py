"""The names that the API and the messages use: started_at, and withdrawals of tournaments."""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Rename two columns and a table, which keep their rows."""
    for table in ("matches", "tournaments"):
        # Alembic would copy the table in SQLite, which can rename a column since 3.25.
        op.execute(f"ALTER TABLE {table} RENAME COLUMN begun_at TO started_at")
    op.rename_table("suspensions", "withdrawals")
