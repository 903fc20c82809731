"""`playout-tournament validate`, `list`, `status`, `report` and `export`: nothing is played."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import IO

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from server.cli.database import opened
from server.export import FORMATS as MATCH_FORMATS
from server.export import writer as match_writer
from server.export.text import utc
from server.model.records import StoredTournament
from server.model.tournament_spec import loads
from server.organizer import estimate, spec_file, stored_tournaments
from server.organizer.commands.options import BadFile, database_option, spec_argument
from server.tournament.report import FORMATS, writer

_REPORT_EPILOG = """
\b
Examples:
  playout-tournament report
  playout-tournament report 19a3f0c2e10001 --format html --output report.html
  playout-tournament report --format crosstable > crosstable.csv
"""
_EXPORT_EPILOG = """
\b
Examples:
  playout-tournament export --output matches.jsonl
  playout-tournament export --format pgn --output matches.pgn
"""

_its_id = click.argument("tournament", metavar="[ID]", required=False)
_output = click.option(
    "--output",
    type=click.File("w", encoding="utf-8", lazy=True),
    default="-",
    help="Where it goes.  [default: standard output]",
)


@click.command(epilog="\b\nExample:\n  playout-tournament validate SPEC.toml")
@spec_argument
def validate(file: Path) -> None:
    """Say what is wrong with SPEC.toml, or what the tournament will be."""
    try:
        spec = spec_file.read(file)
        spec_file.check(spec, file.parent, file)
    except spec_file.SourceError as error:
        raise BadFile(str(error)) from error
    for line in estimate.described(spec):
        click.echo(line)


@click.command("list", epilog="\b\nExample:\n  playout-tournament list")
@database_option
def list_(database: str) -> None:
    """All tournaments in the database, the latest last."""
    with opened(database) as kept:
        known = kept.tournaments()
    table = Table("ID", "name", "format", "begun", "is")
    for each in known:
        organized = each.created
        table.add_row(
            organized.tournament,
            escape(organized.name),
            loads(organized.spec).format.replace("_", " "),
            f"{utc(organized.at):%Y-%m-%d %H:%M}",
            _state(each),
        )
    Console().print(table)


@click.command(epilog="\b\nExample:\n  playout-tournament status")
@_its_id
@database_option
def status(tournament: str | None, database: str) -> None:
    """How the tournament ID, or the latest, stands."""
    held = _held(database, tournament)
    organized = held.created
    click.echo(f"Tournament {organized.tournament}, begun {utc(organized.at):%Y-%m-%d %H:%M} UTC, "
               f"is {_state(held)}")  # fmt: skip
    if not held.ended:
        click.echo(f"Unless it runs, go on with: playout-tournament resume {organized.tournament}")
    report = replace(stored_tournaments.progress(held).report(), crosstable=(), los=(), endings=())
    click.echo(f"\n{writer('text')(report)}", nl=False)


@click.command(epilog=_REPORT_EPILOG)
@_its_id
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="crosstable: that alone, as CSV.",
)
@_output
@database_option
def report(tournament: str | None, format_: str, output: IO[str], database: str) -> None:
    """What the tournament ID, or the latest, has shown."""
    held = _held(database, tournament)
    output.write(writer(format_)(stored_tournaments.progress(held).report()))


@click.command(epilog=_EXPORT_EPILOG)
@_its_id
@click.option(
    "--format",
    "format_",
    type=click.Choice(MATCH_FORMATS),
    default="jsonl",
    show_default=True,
    help="As of playout-server export.",
)
@_output
@database_option
def export(tournament: str | None, format_: str, output: IO[str], database: str) -> None:
    """Write the matches of the tournament ID, or of the latest.

    Those that cannot be written in that format are named; the others are written all the same.
    """
    write = match_writer(format_)
    failed = 0
    for kept in _held(database, tournament).matches:
        try:
            output.write(write(kept))
        except ValueError as error:
            failed += 1
            click.echo(f"match {kept.started.match} is left out: {error}", err=True)
    sys.exit(1 if failed else 0)


def _held(database: str, tournament: str | None) -> StoredTournament:
    with opened(database) as kept:
        return stored_tournaments.find(kept, tournament)


def _state(held: StoredTournament) -> str:
    return "over" if held.ended else "not over"
