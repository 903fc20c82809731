"""Describes the tournament that `playout-tournament` runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from server.model.messages import Fixture
from server.model.tournament_spec import TournamentSpec
from server.organizer.progress import TournamentProgress


@dataclass(frozen=True)
class RunRequest:
    """A tournament to create, or, with its id, to resume. `notes` are shown in its report.

    `match_ended` is called with each match that has ended, also with those before a resumption.

    The other fields are for a local server, whose database can be read: `created` finds the id of
    the tournament if the server stored it but its answer was lost, otherwise None; `stored` reads
    one that the server has forgotten because it is over; `abandoned` are running matches of other
    tournaments, whose players will not return now.
    """

    spec: TournamentSpec
    tournament: str | None = None
    notes: tuple[str, ...] = ()
    created: Callable[[], str | None] | None = None
    stored: Callable[[str], TournamentProgress] | None = None
    abandoned: tuple[str, ...] = ()
    match_ended: Callable[[Fixture], None] = lambda fixture: None
