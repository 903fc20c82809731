"""Databases of earlier versions of Playout, made by its migrations."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import alembic.command
import sqlalchemy as sa
from alembic.config import Config


def migrate(connection: sa.Connection, version: str) -> None:
    """Bring an empty or earlier database to a version, such as "0002"."""
    config = Config()
    config.set_main_option("script_location", "playout.server.storage:migrations")
    config.attributes["connection"] = connection
    alembic.command.upgrade(config, version)


def make_database(url: str, version: str) -> None:
    """Make an empty database of a version."""
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        migrate(connection, version)
    engine.dispose()


def make_earlier(file: Path, version: str) -> None:
    """Replace a file of SQLite by one of an earlier version with the same rows."""
    later = file.rename(file.with_suffix(".later"))
    make_database(f"sqlite:///{file}", version)
    with contextlib.closing(sqlite3.connect(file)) as database:
        database.execute("attach ? as later", (str(later),))
        for table in _names(database, "select name from {}.sqlite_master where type = 'table'"):
            if table == "alembic_version":
                continue
            columns = _names(database, f"select name from pragma_table_info('{table}', '{{}}')")
            listed = ", ".join(f'"{each}"' for each in columns)
            query = f"insert into main.{table} ({listed}) select {listed} from later.{table}"
            database.execute(query)
        database.commit()


def _names(database: sqlite3.Connection, query: str) -> list[str]:
    """Return the names that a query finds in both databases."""
    main, later = (
        {name for (name,) in database.execute(query.format(schema))} for schema in ("main", "later")
    )
    return sorted(main & later)
