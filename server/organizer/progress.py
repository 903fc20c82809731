"""The progress of a tournament that this program plays, and ledgers of stored tournaments."""

from __future__ import annotations

from dataclasses import dataclass

import click

from playout.protocol.messages import Tournament
from playout.server.model.records import StoredTournament
from playout.server.storage import Database
from playout.server.tournament.ledger import UNREADABLE, Ledger
from playout.server.tournament.report import Report
from playout.server.tournament.results import Results


@dataclass
class TournamentProgress:
    """A tournament since this program began to play it at `started_at`, and its pace.

    `notes` are shown in the report.
    """

    ledger: Ledger
    started_at: float
    notes: tuple[str, ...] = ()
    #: The number of matches that ended before the server's first answer was complete.
    ended_before: int | None = None

    def update(self, event: Tournament) -> None:
        """Take over whether the tournament is over, and which entrants are withdrawn."""
        self.ledger.over = event.over
        for entrant in event.withdrawn[len(self.ledger.withdrawn) :]:
            self.ledger.withdraw(entrant)

    def catch_up(self) -> None:
        """Note that all earlier matches are known, and that the next ones are new."""
        if self.ended_before is None:
            self.ended_before = self.ledger.ended

    @property
    def is_caught_up(self) -> bool:
        """Whether all matches are known that were played before this program began."""
        return self.ended_before is not None

    @property
    def results(self) -> Results:
        """The results of all matches so far."""
        return Results(self.ledger)

    def report(self) -> Report:
        """Return the report on all matches so far."""
        return self.results.report(self.notes)

    @property
    def matches(self) -> int | None:
        """The number of matches of the whole tournament; None while that is not known."""
        pairs = self.ledger.pair_count
        return None if pairs is None else 2 * pairs

    def remaining_s(self, now: float) -> float | None:
        """Return the remaining seconds at the current pace; None if not known."""
        done, matches = self._done, self.matches
        if not done or matches is None:
            return None
        return max(0, matches - self.ledger.ended) * (now - self.started_at) / done

    def matches_per_hour(self, now: float) -> float | None:
        """Return the matches that ended in an hour since this program began; None without any."""
        done = self._done
        return 3600 * done / (now - self.started_at) if done and now > self.started_at else None

    @property
    def _done(self) -> int:
        return self.ledger.ended - (self.ended_before or 0)


def stored_tournament(database: Database, tournament: str | None) -> StoredTournament:
    """Return the tournament of that id, or the latest, with its matches. Raises ClickException."""
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


def stored_ledger(stored: StoredTournament) -> Ledger:
    """Return the ledger of a stored tournament. Raises ClickException if it cannot be read."""
    try:
        return Ledger.restored(stored)
    except UNREADABLE as error:
        text = f"tournament {stored.created.tournament} cannot be read: {error}"
        raise click.ClickException(text) from error
