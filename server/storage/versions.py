"""The versions of the tables: the one that a database has, and the way to the latest.

Alembic is imported only to create or upgrade tables: its import takes a third of a second of
processor time, and most databases are of the latest version.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import sqlalchemy as sa

#: The version of the tables, as Alembic stores it.
stored_version = sa.table("alembic_version", sa.column("version_num"))
_FILES = Path(__file__).parent / "migrations" / "versions"


@cache
def known() -> tuple[str, ...]:
    """Return the versions that this program knows, the latest last: `v0001_first.py` is 0001."""
    return tuple(sorted(path.name[1:5] for path in _FILES.glob("v*.py")))


def version_of(connection: sa.Connection) -> str | None:
    """Return the version of the tables of a database; None if it has none."""
    if not sa.inspect(connection).has_table(stored_version.name):
        return None
    found: str | None = connection.scalar(sa.select(stored_version.c.version_num))
    return found


def upgrade(connection: sa.Connection) -> None:
    """Create the tables of the latest version, or change those of an earlier one."""
    import alembic.command
    import alembic.config

    config = alembic.config.Config()
    config.set_main_option("script_location", "server.storage:migrations")
    config.attributes["connection"] = connection
    alembic.command.upgrade(config, "head")
