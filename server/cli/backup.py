"""`playout-server backup`: copies a SQLite database while the server runs."""

from __future__ import annotations

from pathlib import Path

import click

from server.cli.database import opened
from server.cli.options import its_database_option


@click.command(epilog="\b\nExample:\n  playout-server backup monday.db")
@its_database_option
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def backup(database: str, file: Path) -> None:
    """Copy the database to FILE, while the server runs.

    FILE must not exist. To restore it, stop the server and replace its database with the copy, or
    name the copy with --database. For PostgreSQL, use pg_dump.
    """
    with opened(database, of_any_version=True) as stored:
        stored.backup(file)
    click.echo(f"{file}: {file.stat().st_size:,} bytes")
