"""`playout-tournament conclude`: ends a tournament that will not be resumed.

It asks a running server to do so, or does so itself in a database that no server uses.
"""

from __future__ import annotations

import time

import click

from playout.commands.connect_options import ServerAddress
from playout.protocol.messages import EndTournament
from playout.server.cli.database_commands import opened
from playout.server.model.records import Record, TournamentEnded, match_without_result
from playout.server.organizer.commands import (
    database_option,
    remote_server_options,
)
from playout.server.organizer.local_server import organizer_hello, organizers_token
from playout.server.organizer.progress import stored_tournament
from playout.server.storage.engine import InUse

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
    server: ServerAddress | None,
    name: str,
    database: str,
) -> None:
    """End the tournament ID as it stands.

    The matches played so far are kept, also for the report. No more matches are played, and the
    tournament cannot be resumed.
    """
    if server is None:
        _conclude_in_database(tournament, database)
    else:
        hello = organizer_hello(name, organizers_token(name))
        server.ask(EndTournament(id="end_tournament", tournament=tournament), hello)
    click.echo(f"Tournament {tournament} is over, as it stands.")


def _conclude_in_database(tournament: str, url: str) -> None:
    """End a tournament in a database that no server uses. Raises ClickException."""
    with opened(url) as database:
        stored = stored_tournament(database, tournament)
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
