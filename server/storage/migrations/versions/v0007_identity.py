"""Add a random id of the database, by which readers of feeds tell servers apart."""

from __future__ import annotations

import uuid

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Create the table with the id, its only row."""
    identity = op.create_table("identity", sa.Column("id", sa.Text, primary_key=True))
    op.bulk_insert(identity, [{"id": str(uuid.uuid4())}])
