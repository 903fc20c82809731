"""The commands that play no matches: `validate`, `list`, `status`, `report` and `export`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import IO

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from playout.commands.progress import doing
from playout.commands.text import utc
from playout.protocol.tournament_spec import loads
from playout.server.cli.database_commands import opened
from playout.server.cli.export_commands import write_matches
from playout.server.export import FORMATS as MATCH_FORMATS
from playout.server.model.records import StoredTournament
from playout.server.organizer import estimate, spec_file
from playout.server.organizer.commands import database_option, spec_argument
from playout.server.organizer.console import CHECKING, busy
from playout.server.organizer.progress import stored_ledger, stored_tournament
from playout.server.tournament.report import FORMATS, writer
from playout.server.tournament.results import Results

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

_tournament_argument = click.argument("tournament", metavar="[ID]", required=False)
_output_option = click.option(
    "--output",
    type=click.File("w", encoding="utf-8", lazy=True),
    default="-",
    help="The file to write.  [default: standard output]",
)


@click.command(epilog="\b\nExample:\n  playout-tournament validate SPEC.toml")
@spec_argument
def validate(file: Path) -> None:
    """Show the errors of SPEC.toml, or an estimate of the tournament."""
    with busy(CHECKING):
        spec = spec_file.read_and_check(file)
    for line in estimate.description(spec):
        click.echo(line)


@click.command("list", epilog="\b\nExample:\n  playout-tournament list")
@database_option
def list_(database: str) -> None:
    """List all tournaments in the database, the latest last."""
    with opened(database) as found, doing("Reading the tournaments"):
        known = found.tournaments()
    table = Table("ID", "name", "format", "started", "state")
    for each in known:
        created = each.created
        table.add_row(
            created.tournament,
            escape(created.name),
            loads(created.spec).format.replace("_", " "),
            f"{utc(created.at):%Y-%m-%d %H:%M}",
            _state(each),
        )
    Console().print(table)


@click.command(epilog="\b\nExample:\n  playout-tournament status")
@_tournament_argument
@database_option
def status(tournament: str | None, database: str) -> None:
    """Show the standings of the tournament ID, or of the latest."""
    stored = _stored(database, tournament)
    created = stored.created
    click.echo(f"Tournament {created.tournament}, started {utc(created.at):%Y-%m-%d %H:%M} UTC, "
               f"is {_state(stored)}")  # fmt: skip
    if not stored.ended:
        click.echo(f"If it is not running, continue it with: playout-tournament resume "
                   f"{created.tournament}")  # fmt: skip
    with doing("Computing the standings"):
        report = Results(stored_ledger(stored)).report()
    standings = replace(report, crosstable=(), los=(), endings=())
    click.echo(f"\n{writer('text')(standings)}", nl=False)


@click.command(epilog=_REPORT_EPILOG)
@_tournament_argument
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="crosstable: only the crosstable, as CSV.",
)
@_output_option
@database_option
def report(tournament: str | None, format_: str, output: IO[str], database: str) -> None:
    """Write the report on the tournament ID, or on the latest."""
    write = writer(format_)
    stored = _stored(database, tournament)
    with doing("Computing the report"):
        text = write(Results(stored_ledger(stored)).report())
    output.write(text)


@click.command(epilog=_EXPORT_EPILOG)
@_tournament_argument
@click.option(
    "--format",
    "format_",
    type=click.Choice(MATCH_FORMATS),
    default="jsonl",
    show_default=True,
    help="As of playout-server export.",
)
@_output_option
@database_option
def export(tournament: str | None, format_: str, output: IO[str], database: str) -> None:
    """Write the matches of the tournament ID, or of the latest.

    Matches that cannot be written in the format are named and left out; then the exit code is 1.
    """
    _, failed = write_matches(_stored(database, tournament).matches, format_, output)
    sys.exit(1 if failed else 0)


def _stored(database: str, tournament: str | None) -> StoredTournament:
    with opened(database) as found, doing("Reading the tournament"):
        return stored_tournament(found, tournament)


def _state(stored: StoredTournament) -> str:
    return "over" if stored.ended else "not over"
