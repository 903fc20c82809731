"""Asks a server to end a tournament, and waits for the answer."""

from __future__ import annotations

from typing import Any

import click

from server.client.connection import ServerConnection
from server.model.messages import EndTournament, Error, Event, Hello, Ok, Welcome
from server.organizer.login import refusal

_END = "end_tournament"


class EndTournamentCall:
    """Logs in, sends one request and keeps the error, if there is one."""

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
        """Run the reactor until there is an answer.

        Raises ClickException unless the server confirms.
        """
        self._reactor.callWhenRunning(self._connection.open)
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
        """Not called, as there is one attempt: its connection has no patience."""

    def unreachable(self, reason: str) -> None:
        """End: the user can try again."""
        self._end(f"the server cannot be reached: {reason}")

    def unusable(self, reason: str) -> None:
        """End: another attempt would fail, too."""
        self._end(reason)

    def received(self, event: Event) -> None:
        """Send the request once logged in, and take the answer."""
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
