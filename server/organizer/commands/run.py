"""`playout-tournament run` and `resume`: play a tournament from its start, or continue it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from playout.protocol.tournament_spec import TournamentSpec, loads
from playout.server.cli.database_commands import opened
from playout.server.organizer import spec_file
from playout.server.organizer.commands.tournament_options import (
    database_option,
    server_options,
    spec_argument,
)
from playout.server.organizer.console import CHECKING, busy
from playout.server.organizer.launch import (
    ServerChoice,
    chosen_cluster,
    launch,
    notes,
    prepare_database,
)
from playout.server.organizer.progress import stored_ledger, stored_tournament
from playout.server.organizer.runner import RunRequest
from playout.server.tournament.report import writer
from playout.server.tournament.results import Results
from playout.server.tournament.spec_parser import ClusterSettings

if TYPE_CHECKING:
    from playout.server.organizer.cluster_entrants import TournamentCluster

_EPILOG = """
\b
Examples:
  playout-tournament run SPEC.toml
  playout-tournament run SPEC.toml --stay          when it is over, keep its web page
  playout-tournament run SPEC.toml --port 4242     entrants may log in by themselves, as:
                                                   playout-player any uct --tournament any
                                                     --name NAME --port 4242
  playout-tournament run SPEC.toml --pgn matches.pgn    append each match when it ends
  playout-tournament run SPEC.toml --dask tcp://10.0.0.1:8786    entrants on a Dask cluster
  PLAYOUT_TOKEN=... playout-tournament run SPEC.toml --server play.example:4242 --tls --name Ada

Commands are run in the folder of the file. Ctrl-C stops the tournament; the matches played so far
are stored, and resume continues it.
"""


@click.command(epilog=_EPILOG)
@spec_argument
@server_options
@database_option
def run(file: Path, **options: Any) -> None:
    """Play the tournament that SPEC.toml describes."""
    choice = ServerChoice(**options)
    with chosen_cluster(choice.dask, spec_file.cluster_settings(file)) as cluster:
        with busy(CHECKING):
            spec = spec_file.read_and_check(file, cluster.cores if cluster else None)
        request = RunRequest(spec, notes=notes(spec, cluster))
        launch(request, choice, file.parent, spec.entrants, cluster)


_RESUME_EPILOG = """
\b
Examples:
  playout-tournament resume                      the latest tournament
  playout-tournament resume 19a3f0c2e10001
  playout-tournament resume --spec SPEC.toml     when SPEC.toml is in another folder
"""


@click.command(epilog=_RESUME_EPILOG)
@click.argument("tournament", metavar="[ID]", required=False)
@click.option(
    "--spec",
    "file",
    metavar="SPEC.toml",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Start players and commands as this file says, in its folder.  "
    "[default: as they were at the start, in the current folder]",
)
@click.option("--anyway", is_flag=True, help="Continue with entrants that have changed.")
@server_options
@database_option
def resume(
    tournament: str | None,
    file: Path | None,
    anyway: bool,
    **options: Any,
) -> None:
    """Continue the tournament ID, or the latest, after an interruption."""
    choice = ServerChoice(**options)
    settings = spec_file.cluster_settings(file) if file else ClusterSettings()
    with chosen_cluster(choice.dask, settings) as cluster:
        _resume(tournament, file, choice, cluster, anyway=anyway)


def _resume(
    tournament: str | None,
    file: Path | None,
    choice: ServerChoice,
    cluster: TournamentCluster | None,
    *,
    anyway: bool,
) -> None:
    """Continue a tournament; with a cluster, its entrants run there."""
    folder = file.parent if file else Path.cwd()
    with busy(CHECKING):
        given = spec_file.read_and_check(file) if file else None
    if choice.server:
        _resume_remote(tournament, given, choice, folder, cluster, anyway=anyway)
        return
    with opened(choice.database, of_any_version=True) as database:
        if database.is_outdated():
            prepare_database(choice.database)
    with opened(choice.database) as database:
        stored = stored_tournament(database, tournament)
    spec, tournament = loads(stored.created.spec), stored.created.tournament
    if stored.ended:
        click.echo(f"Tournament {tournament} is over.\n")
        click.echo(writer("text")(Results(stored_ledger(stored)).report()), nl=False)
        return
    if given and (fields := spec_file.differences(given, spec)):
        raise click.ClickException(
            f"{file} is not the file of tournament {tournament}: it differs in {', '.join(fields)}"
        )
    if not anyway:
        _require_unchanged(spec, given, folder)
    if given is None:
        with busy(CHECKING):
            spec_file.check(spec, folder)
    request = RunRequest(spec, tournament, notes=notes(spec, cluster))
    launch(request, choice, folder, given.entrants if given else spec.entrants, cluster)


def _resume_remote(
    tournament: str | None,
    given: TournamentSpec | None,
    choice: ServerChoice,
    folder: Path,
    cluster: TournamentCluster | None,
    *,
    anyway: bool,
) -> None:
    """Continue a tournament of a running server, which has its matches."""
    if tournament is None or given is None:
        raise click.UsageError("with --server, name the tournament's ID and its file, --spec")
    request = RunRequest(given, tournament, notes=notes(given, cluster), anyway=anyway)
    launch(request, choice, folder, given.entrants, cluster)


def _require_unchanged(spec: TournamentSpec, given: TournamentSpec | None, folder: Path) -> None:
    """Raise ClickException if an entrant has another version than at the start."""
    if given is None:
        changed = spec_file.changed(spec.entrants, folder)
    else:
        versions = {each.name: each.version for each in given.entrants}
        changed = [each.name for each in spec.entrants if versions[each.name] != each.version]
    if changed:
        raise click.ClickException(
            f"{', '.join(changed)}: not the version with which the tournament began, by the files "
            f"in {folder.resolve()}. Go to the folder of the tournament's file, or name the file "
            "with --spec; --anyway continues with the present version"
        )
