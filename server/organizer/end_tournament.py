"""Tells a server that a tournament is over, and hears whether it is."""

from __future__ import annotations

from typing import Any

import click

from server.client.organizer_line import OrganizerConnection
from server.model.messages import EndTournament, Error, Event, Ok

_CONCLUDE = "conclude"


class EndTournamentCall:
    """Says one thing, and comes back with the answer."""

    def __init__(self, reactor: Any, tournament: str) -> None:
        self._reactor = reactor
        self._tournament = tournament
        self._answer: str | None = "nothing was heard"

    def use(self, line: OrganizerConnection) -> None:
        """Before anything else: what to speak over."""
        self._line = line

    def run(self) -> None:
        """Until there is an answer. Raises ClickException if it is not that it is done."""
        self._reactor.callWhenRunning(self._line.open)
        self._reactor.run()
        if self._answer is not None:
            raise click.ClickException(self._answer)

    # The line.

    def welcomed(self) -> None:
        """Say it."""
        self._line.send(EndTournament(id=_CONCLUDE, tournament=self._tournament))

    def cut_off(self, why: str) -> None:
        """Whoever waits for it can try again."""
        self._end(f"the server cannot be reached: {why}")

    def hopeless(self, reason: str) -> None:
        """Not a server."""
        self._end(reason)

    def refused(self, error: Error) -> None:
        """The name or the token is wrong."""
        self._end(f"the server does not let the organizer in: {error.text}")

    def received(self, event: Event) -> None:
        """The answer."""
        match event:
            case Ok(re=re) if re == _CONCLUDE:
                self._end(None)
            case Error():
                self._end(event.text)

    def _end(self, answer: str | None) -> None:
        self._answer = answer
        self._line.close()
        self._reactor.callLater(0.05, self._reactor.stop)
