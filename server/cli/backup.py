"""The command `playout-server backup`: copies a database."""

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

    FILE must not exist. To use a copy, name it as the server's database, or put it in its place
    while the server is stopped. For PostgreSQL, use pg_dump.
    """
    with opened(database, of_any_version=True) as kept:
        kept.backup(file)
    click.echo(f"{file}: {file.stat().st_size:,} bytes")
