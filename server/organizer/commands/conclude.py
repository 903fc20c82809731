"""`playout-tournament conclude`: ends a tournament that will not be resumed.

It asks a running server to do so, or does so itself in a database that no server uses.
"""

from __future__ import annotations

import importlib
import time
from typing import Any

import click

from playout.commands import signals
from playout.commands.connect_options import ServerAddress
from playout.protocol.connection import ServerConnection
from playout.protocol.messages import EndTournament, Error, Event, Hello, Ok, Welcome
from playout.server.cli.database_commands import opened
from playout.server.model.records import Record, TournamentEnded, match_without_result
from playout.server.organizer.commands import (
    database_option,
    remote_server_options,
)
from playout.server.organizer.local_server import organizer_hello, organizers_token, refusal
from playout.server.organizer.progress import stored_tournament
from playout.server.storage.engine import InUse

#: The id of the request.
_END = "end_tournament"


class EndTournamentCall:
    """Logs in, asks a server to end a tournament, and waits for the answer."""

    def __init__(self, reactor: Any, tournament: str) -> None:
        self._reactor = reactor
        self._tournament = tournament
        self._is_in = False
        self._error: str | None = "the server has not answered"

    def use(self, connection: ServerConnection, hello: Hello) -> None:
        """Log in with `hello` over this connection; to be called first."""
        self._connection = connection
        self._hello = hello

    def run(self) -> None:
        """Run the reactor until the answer. Raises ClickException unless the server confirms."""
        self._reactor.callWhenRunning(self._connection.open)
        with signals.handled(self._reactor, {}):  # Ctrl-C exits at once
            self._reactor.run(installSignalHandlers=False)
        if self._error is not None:
            raise click.ClickException(self._error)

    def connected(self) -> None:
        """Log in as the organizer."""
        self._connection.send(self._hello)

    def disconnected(self, reason: str) -> None:
        """End: the user can try again."""
        self._end(f"the server cannot be reached: {reason}")

    def retrying(self, server: str, reason: str, patience_s: float) -> None:
        """Not called: the connection has no patience, and makes one attempt."""

    def unreachable(self, reason: str) -> None:
        """End: the user can try again."""
        self._end(f"the server cannot be reached: {reason}")

    def unusable(self, reason: str) -> None:
        """End: another attempt would fail, too."""
        self._end(reason)

    def received(self, event: Event) -> None:
        """Send the request after the login, and handle the answer."""
        match event:
            case Welcome():
                self._is_in = True
                self._connection.send(EndTournament(id=_END, tournament=self._tournament))
            case Ok(re=re) if re == _END:
                self._end(None)
            case Error() if not self._is_in:
                self._end(refusal(event))
            case Error():
                self._end(event.text)

    def _end(self, error: str | None) -> None:
        self._error = error
        self._connection.close()
        self._reactor.callLater(0.05, self._reactor.stop)


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
        reactor: Any = importlib.import_module("twisted.internet.reactor")
        call = EndTournamentCall(reactor, tournament)
        hello = organizer_hello(name, organizers_token(name))
        call.use(server.connection(reactor, call, patience_s=0.0), hello)
        call.run()
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
