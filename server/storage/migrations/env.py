"""Runs the migrations over the connection that `engine.upgrade` passes on."""

from __future__ import annotations

from alembic import context

from playout.server.storage.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
