"""`playout-tournament conclude`: ends a tournament that will not be resumed."""

from __future__ import annotations

import importlib
import time
from pathlib import Path
from typing import Any

import click

from server.cli.database import opened
from server.client.connection import ServerConnection
from server.client.tls import tls_settings
from server.model.records import Record, TournamentEnded, match_without_result
from server.organizer import stored_tournaments
from server.organizer.commands.options import database_option, remote_server_options
from server.organizer.end_tournament import EndTournamentCall
from server.organizer.login import organizer_hello, organizers_token
from server.storage.engine import InUse

_EPILOG = """
\b
Examples:
  playout-tournament conclude 19a3f0c2e10001
  PLAYOUT_TOKEN=... playout-tournament conclude 19a3f0c2e10001 --server play.example:4242 --name Ada
"""


@click.command(epilog=_EPILOG)
@click.argument("tournament", metavar="ID")
@remote_server_options
@database_option
def conclude(
    tournament: str,
    server: tuple[str, int] | None,
    name: str,
    tls: bool,
    ca: Path | None,
    tls_name: str | None,
    database: str,
) -> None:
    """End the tournament ID as it stands.

    The matches played so far are kept, also for the report. No more matches are played, and the
    tournament cannot be resumed.
    """
    if server is None:
        _conclude_in_database(tournament, database)
    else:
        reactor: Any = importlib.import_module("twisted.internet.reactor")
        call = EndTournamentCall(reactor, tournament)
        settings = tls_settings(server[0], tls, ca, tls_name)
        hello = organizer_hello(name, organizers_token(name))
        call.use(ServerConnection(reactor, server, call, 0.0, settings), hello)
        call.run()
    click.echo(f"Tournament {tournament} is over, as it stands.")


def _conclude_in_database(tournament: str, url: str) -> None:
    """End a tournament in a database that no server uses. Raises ClickException."""
    with opened(url) as database:
        stored = stored_tournaments.find(database, tournament)
        if stored.ended:
            raise click.ClickException(f"tournament {tournament} is over already")
        try:
            database.lock()
        except InUse as error:
            raise click.ClickException(
                f"{error}: if it plays this tournament, stop that first (Ctrl-C); if it is a "
                "playout-server, ask it, with --server HOST:PORT"
            ) from error
        at = time.time()
        running = (each.started.match for each in stored.matches if not each.ended)
        records: list[Record] = [
            match_without_result(each, "the tournament is over", at) for each in running
        ]
        database.save([*records, TournamentEnded(tournament=tournament, at=at)])
