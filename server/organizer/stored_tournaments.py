"""Reads tournaments from a database."""

from __future__ import annotations

import click

from playout import games
from playout.protocol.messages import Tournament
from playout.protocol.tournament_spec import loads
from playout.ratings.openings import OpeningError
from playout.server.model.records import StoredTournament
from playout.server.organizer.progress import TournamentProgress
from playout.server.storage import Database
from playout.server.tournament.state import fixtures_of


def find(database: Database, tournament: str | None) -> StoredTournament:
    """The tournament of that id, or the latest, with its matches. Raises ClickException."""
    known = [each.created.tournament for each in database.tournaments()]
    if not known:
        raise click.ClickException(f"there is no tournament in {database.shown}")
    stored = database.tournament(tournament or known[-1])
    if stored is None:
        raise click.ClickException(
            f"there is no tournament {tournament!r} in {database.shown}; see: "
            "playout-tournament list"
        )
    return stored


def progress(stored: StoredTournament) -> TournamentProgress:
    """The state of a stored tournament. Raises ClickException if this version cannot read it."""
    created = stored.created
    event = Tournament(
        tournament=created.tournament,
        spec=loads(created.spec),
        over=stored.ended is not None,
        withdrawn=stored.withdrawn,
    )
    found = TournamentProgress(event, created.at)
    try:
        for fixture in fixtures_of(stored):
            found.put(fixture)
    except (games.SpecError, OpeningError, ValueError) as error:
        text = f"tournament {created.tournament} cannot be read: {error}"
        raise click.ClickException(text) from error
    return found
