"""What pages ask for: the latest matches of a game and of a player."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add indexes for the latest matches of games and players."""
    for column in ("game", "first", "second", "first_account", "second_account"):
        op.create_index(f"matches_{column}", "matches", [column, "ended_at"])
