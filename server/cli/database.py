"""The database of a command, which a server may be using meanwhile."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import click
from sqlalchemy.exc import SQLAlchemyError

from server.storage import Database, StorageError
from server.storage.engine import first_line


@contextlib.contextmanager
def opened(url: str, *, of_any_version: bool = False) -> Iterator[Database]:
    """Open it for a while; what goes wrong is said to the user, without a traceback.

    It must be new, or as this version of Playout knows it: only a server brings it up to date.
    """
    if url == "none":
        raise click.UsageError("this needs a database: --database URL")
    try:
        database = Database(url)
        try:
            if not of_any_version:
                database.require()
            yield database
        finally:
            database.close()
    except StorageError as error:
        raise click.ClickException(str(error)) from error
    except SQLAlchemyError as error:
        raise click.ClickException(first_line(error)) from error
