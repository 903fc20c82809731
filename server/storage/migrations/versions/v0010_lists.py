"""Lists of matches: indexes with all columns that order and filter them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

_LISTED = ["ended_at", "id", "game", "winner"]


def upgrade() -> None:
    """Replace the indexes of matches by longer ones; that of a large history takes seconds."""
    imported = "first_account IS NULL AND second_account IS NULL AND rated"
    for name in ("ended_at", "tournament", "game", *_BY_SEAT):
        op.drop_index(f"matches_{name}", "matches")
    op.create_index("matches_ended", "matches", ["ended_at", "id", "winner"])
    op.create_index("matches_tournament", "matches", ["tournament", "ended_at"])
    op.create_index("matches_game", "matches", ["game", "ended_at", "id", "winner"])
    for name in _BY_SEAT:
        other = "second" if name.startswith("first") else "first"
        op.create_index(f"matches_{name}", "matches", [name, *_LISTED, other])
    for seat, other in (("first", "second"), ("second", "first")):
        op.create_index(
            f"matches_{seat}_imported",
            "matches",
            [seat, *_LISTED, other, "first_account", "second_account", "rated"],
            sqlite_where=sa.text(f"{imported} = 1"),
            postgresql_where=sa.text(imported),
        )


_BY_SEAT = ("first", "second", "first_account", "second_account")
