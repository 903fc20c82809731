"""Opens the database for a subcommand, and the command `playout-server backup`.

A server may be using the database at the same time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import click
from sqlalchemy.exc import SQLAlchemyError

from playout import games
from playout.commands import interrupts
from playout.commands.options import registered
from playout.commands.progress import doing
from playout.games.core import plugins
from playout.server.cli.server_options import its_database_option
from playout.server.storage import Database, StorageError
from playout.server.storage.engine import first_line


@contextlib.contextmanager
def opened(url: str, *, create: bool = False, of_any_version: bool = False) -> Iterator[Database]:
    """Open a database, and close it at the end of the block.

    It must exist, unless `create` allows to create it, and have the version of this program, unless
    `of_any_version`: only a server upgrades it. Raises ClickException if it cannot be used,
    UsageError if the URL is "none".
    """
    if url == "none":
        raise click.UsageError("this command needs a database: --database URL")
    try:
        database = Database(url)
        try:
            with interrupts.with_cleanup():
                with doing("Opening the database"):
                    if of_any_version:
                        database.require_file()
                    else:
                        database.require(create=create)
                yield database
        finally:
            database.close()
    except StorageError as error:
        raise click.ClickException(str(error)) from error
    except SQLAlchemyError as error:
        raise click.ClickException(first_line(error)) from error


@click.command(epilog="\b\nExample:\n  playout-server backup monday.db")
@its_database_option
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def backup(database: str, file: Path) -> None:
    """Copy the database to FILE, while the server runs.

    FILE must not exist. To restore it, stop the server and replace its database with the copy, or
    name the copy with --database. For PostgreSQL, use pg_dump.
    """
    with opened(database, of_any_version=True) as stored, doing("Copying the database"):
        stored.backup(file)
    click.echo(f"{file}: {file.stat().st_size:,} bytes")


def stored_game(text: str) -> str:
    """Return a game that was typed as `Database.matches` takes it; a name has any parameters.

    Matches have the canonical spelling, without usual values. Raises UsageError for a class that
    cannot be loaded.
    """
    name = registered(text) if plugins.is_target(text) else text
    if "(" in name:
        with contextlib.suppress(games.SpecError):  # no game of this installation
            canonical = str(games.load(name))
            return canonical if "(" in canonical else f"{canonical}()"
    return name
