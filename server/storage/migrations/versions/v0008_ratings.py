"""What pages show of players, kept up as matches end: totals, ratings, and their history."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the tables; the totals of the stored matches are counted now, and ratings later."""
    op.create_table(
        "player_totals",
        sa.Column("player", sa.Text, primary_key=True),
        sa.Column("imported", sa.Boolean, primary_key=True),
        sa.Column("game", sa.Text, primary_key=True),
        sa.Column("won", sa.Integer, nullable=False),
        sa.Column("tied", sa.Integer, nullable=False),
        sa.Column("lost", sa.Integer, nullable=False),
        sa.Column("last_at", sa.Double, nullable=False),
        sqlite_with_rowid=False,
    )
    seats = " UNION ALL ".join(
        _results_of(*each) for each in (("first", "second", 1, 2), ("second", "first", 2, 1))
    )
    op.execute(
        "INSERT INTO player_totals (player, imported, game, won, tied, lost, last_at) "
        "SELECT player, imported, game, sum(won), sum(tied), sum(lost), max(ended_at) "
        f"FROM ({seats}) AS results GROUP BY player, imported, game"
    )
    op.create_table(
        "leaderboards",
        sa.Column("game", sa.Text, primary_key=True),
        sa.Column("ended", sa.Integer, nullable=False),
        sa.Column("last_at", sa.Double, nullable=False),
        sa.Column("rated", sa.Integer, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
    )
    op.create_table(
        "rating_points",
        sa.Column("game", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("version", sa.Text, primary_key=True),
        sa.Column("matches", sa.Integer, primary_key=True),
        sa.Column("rating", sa.Double, nullable=False),
        sa.Column("error", sa.Double, nullable=False),
        sa.Column("anchor", sa.Text, nullable=False),
        sa.Column("anchor_version", sa.Text, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sqlite_with_rowid=False,
    )


def _results_of(seat: str, other: str, won: int, lost: int) -> str:
    """Return the query for the results of the players in a seat."""
    cases = ", ".join(
        f"CASE WHEN winner = {winner} THEN 1 ELSE 0 END AS {name}"
        for winner, name in ((won, "won"), (-1, "tied"), (lost, "lost"))
    )
    return (
        f'SELECT coalesce({seat}_account, "{seat}") AS player, {seat}_account IS NULL AS imported, '
        f"game, {cases}, ended_at FROM matches "
        f"WHERE ended_at IS NOT NULL AND winner <> 0 "
        f"AND ({seat}_account IS NOT NULL OR ({other}_account IS NULL AND rated))"
    )
