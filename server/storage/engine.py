"""SQLAlchemy's engine for a database of either kind, and the version of its tables.

Alembic is imported only to create or upgrade tables: its import takes a third of a second of
processor time, and most databases have the latest version.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from platformdirs import user_data_path

#: The version of the tables, as Alembic stores it.
stored_version = sa.table("alembic_version", sa.column("version_num"))
_FILES = Path(__file__).parent / "migrations" / "versions"
#: Seconds for which a connection that writes waits for another that does.
_BUSY_S = 5.0
#: PostgreSQL's limits on a query of a page, and on its silence: only a fault takes as long.
_LONGEST_READ_MS = 20_000
_LONGEST_SILENCE = {"keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3}
#: The parameter in the URL of a SQLite database: full or normal.
_SYNCHRONOUS = "synchronous"
_ALLOWED = "use sqlite:////path/to/file.db or postgresql+psycopg://user@host/name, or none"


#: The device and the inode of a file.
FileIdentity = tuple[int, int]


class StorageError(Exception):
    """The database cannot be used; the message is for the operator."""


class InUse(StorageError):
    """The database cannot be used because another server uses it."""


class UnstorableError(StorageError):
    """A record has a value that the database cannot hold, so that trying again is useless."""


def open_engine(url: str, *, only_read: bool) -> tuple[sa.URL, sa.Engine]:
    """Return the parsed URL of a database and an engine for it; nothing is opened yet.

    With `only_read` its connections refuse to write, and to read for longer than a page may take.
    Raises StorageError.
    """
    try:
        parsed = sa.make_url(url)
        kind = parsed.get_backend_name()
        if kind not in ("sqlite", "postgresql"):
            raise StorageError(f"cannot use a database of kind {kind!r}: {_ALLOWED}")
        engine_url = parsed.difference_update_query([_SYNCHRONOUS])
        engine = sa.create_engine(engine_url, **_options(parsed, only_read))
        if kind == "sqlite":
            sa.event.listen(engine, "do_connect", _require_file)
            sa.event.listen(engine, "connect", _sqlite_setter(parsed, only_read))
    except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError, ValueError) as error:
        raise StorageError(f"cannot use the database {url!r}: {error}. {_ALLOWED}") from error
    except ModuleNotFoundError as error:
        text = 'PostgreSQL needs psycopg: pip install ".[postgres]" in a checkout of Playout'
        raise StorageError(text) from error
    return parsed, engine


def without_power_cuts(url: str) -> str:
    """Return the URL with which commits to the same SQLite database need not survive power cuts.

    They are faster. The URL of another database is returned as it is.
    """
    parsed = sa.make_url(url)
    if parsed.get_backend_name() != "sqlite":
        return url
    relaxed = parsed.update_query_dict({_SYNCHRONOUS: "normal"})
    return relaxed.render_as_string(hide_password=False)


def make_private(path: Path) -> None:
    """Create a SQLite file that only its owner can read, as it holds digests of tokens.

    The folder must exist, unless it is that of the user's data. Raises OSError.
    """
    if path.parent == user_data_path("playout"):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    elif not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent}")
    if not path.exists():
        _create(path)


def _create(path: Path) -> None:
    """Create an empty SQLite file that has a write-ahead log, unless it exists. Raises OSError.

    Others see the file when it is complete: SQLite does not wait for other connections to change
    the journal mode, and of several processes that started at once one failed with "database is
    locked".
    """
    with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as folder:
        new = Path(folder) / path.name
        os.close(os.open(new, os.O_CREAT | os.O_RDWR, 0o600))
        with contextlib.closing(sqlite3.connect(new)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
        with contextlib.suppress(FileExistsError):
            os.link(new, path)


def identity_of(path: Path) -> FileIdentity | None:
    """Return what distinguishes a file from others of its name over time; None without a file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text; of SQLAlchemy's errors, that of the driver."""
    cause = error.orig if isinstance(error, sa.exc.DBAPIError) and error.orig else error
    return str(cause).strip().splitlines()[0] if str(cause).strip() else type(cause).__name__


def _require_file(_: object, __: object, arguments: list[Any], ___: object) -> None:
    """Raise an error instead of creating an empty SQLite file where one was deleted."""
    path = arguments[0]
    if path != ":memory:" and not os.path.exists(path):
        raise sqlite3.OperationalError(f"the database file {path} is gone")


def _options(url: sa.URL, only_read: bool) -> dict[str, Any]:
    if url.get_backend_name() == "sqlite":
        wait_s = float(str(url.query.get("timeout", _BUSY_S)))
        return {"connect_args": {"timeout": wait_s, "check_same_thread": False}}
    connect: dict[str, Any] = {"connect_timeout": 5}
    if only_read:
        only = f"-c default_transaction_read_only=on -c statement_timeout={_LONGEST_READ_MS}"
        connect |= _LONGEST_SILENCE | {"options": f"{url.query.get('options', '')} {only}"}
    return {
        "connect_args": connect,
        "pool_pre_ping": True,
        "paramstyle": "format",  # positional, as SQLite's: see statements.Write
    }


def _sqlite_setter(url: sa.URL, only_read: bool) -> Callable[[sqlite3.Connection, object], None]:
    """Return the function that sets up each connection. Raises ValueError.

    Commits survive the death of any process and, with FULL, the default, also a power cut.
    """
    wanted = str(url.query.get(_SYNCHRONOUS, "full")).lower()
    if wanted not in ("full", "normal"):
        raise ValueError(f"{_SYNCHRONOUS} is full or normal, not {wanted!r}")

    def set_up(connection: sqlite3.Connection, _: object) -> None:
        usual = ("journal_mode=WAL", f"synchronous={wanted}", "foreign_keys=OFF")
        for pragma in (*usual, "query_only=ON") if only_read else usual:
            connection.execute(f"PRAGMA {pragma}")

    return set_up


@cache
def known() -> tuple[str, ...]:
    """Return the versions that this program knows, the latest last: 0001 for `v0001_first.py`."""
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
    config.set_main_option("script_location", "playout.server.storage:migrations")
    config.attributes["connection"] = connection
    alembic.command.upgrade(config, "head")
