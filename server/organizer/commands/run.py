"""`playout-tournament run`: plays a tournament from its start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from server.organizer import spec_file
from server.organizer.cluster.options import chosen_cluster
from server.organizer.commands.options import database_option, server_options, spec_argument
from server.organizer.console import CHECKING, busy
from server.organizer.launch import ServerChoice, launch, notes
from server.organizer.run_request import RunRequest

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
