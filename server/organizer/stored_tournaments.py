"""Tournaments as they are stored."""

from __future__ import annotations

import click

import games
from server.model.messages import Tournament
from server.model.records import Held
from server.model.tournament_spec import loads
from server.organizer.progress import Progress
from server.storage import Database
from server.tournament.openings import OpeningError
from server.tournament.state import fixtures_of


def find(database: Database, tournament: str | None) -> Held:
    """The tournament of that id, or the latest, with its matches. Raises ClickException."""
    known = [each.organized.tournament for each in database.tournaments()]
    if not known:
        raise click.ClickException(f"there is no tournament in {database.shown}")
    held = database.tournament(tournament or known[-1])
    if held is None:
        raise click.ClickException(
            f"there is no tournament {tournament!r} in {database.shown}; see: "
            "playout-tournament list"
        )
    return held


def progress(held: Held) -> Progress:
    """How it stands. Raises ClickException."""
    organized = held.organized
    told = Tournament(
        tournament=organized.tournament,
        spec=loads(organized.spec),
        over=held.concluded is not None,
        out=held.out,
    )
    found = Progress(told, organized.at)
    try:
        for fixture in fixtures_of(held):
            found.put(fixture)
    except (games.SpecError, OpeningError, ValueError) as error:
        text = f"tournament {organized.tournament} cannot be read: {error}"
        raise click.ClickException(text) from error
    return found
