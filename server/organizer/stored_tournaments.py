"""Tournaments as they are stored."""

from __future__ import annotations

import click

import games
from server.model.messages import Tournament
from server.model.records import StoredTournament
from server.model.tournament_spec import loads
from server.organizer.progress import TournamentProgress
from server.storage import Database
from server.tournament.openings import OpeningError
from server.tournament.state import fixtures_of


def find(database: Database, tournament: str | None) -> StoredTournament:
    """The tournament of that id, or the latest, with its matches. Raises ClickException."""
    known = [each.created.tournament for each in database.tournaments()]
    if not known:
        raise click.ClickException(f"there is no tournament in {database.shown}")
    held = database.tournament(tournament or known[-1])
    if held is None:
        raise click.ClickException(
            f"there is no tournament {tournament!r} in {database.shown}; see: "
            "playout-tournament list"
        )
    return held


def progress(held: StoredTournament) -> TournamentProgress:
    """How it stands. Raises ClickException."""
    organized = held.created
    told = Tournament(
        tournament=organized.tournament,
        spec=loads(organized.spec),
        over=held.ended is not None,
        withdrawn=held.withdrawn,
    )
    found = TournamentProgress(told, organized.at)
    try:
        for fixture in fixtures_of(held):
            found.put(fixture)
    except (games.SpecError, OpeningError, ValueError) as error:
        text = f"tournament {organized.tournament} cannot be read: {error}"
        raise click.ClickException(text) from error
    return found
