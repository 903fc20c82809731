"""The state of a tournament, from the events that the server sends or from a database."""

from __future__ import annotations

from collections.abc import Iterable

import click

from playout import games
from playout.protocol.messages import Fixture, Tournament
from playout.protocol.tournament_spec import TournamentSpec, loads
from playout.ratings.openings import OpeningError
from playout.ratings.pairs import Key
from playout.server.model.records import StoredTournament
from playout.server.storage import Database
from playout.server.tournament.report import Report
from playout.server.tournament.results import Results
from playout.server.tournament.state import fixtures_of, key_of


class TournamentProgress:
    """The state of one tournament after the events so far.

    Numbers that each match needs are counted with the events, so that the cost of a match does not
    grow with the length of the tournament.
    """

    def __init__(self, event: Tournament, now: float, notes: tuple[str, ...] = ()) -> None:
        """`notes` are shown in the report."""
        self.id = event.tournament
        self.spec: TournamentSpec = event.spec
        self.started_at = now
        self.notes = notes
        self.running: dict[str, Fixture] = {}
        #: The number of matches whose result counts, or will count when the pair is complete.
        self.ended = 0
        self._fixtures: dict[str, Fixture] = {}
        #: For each pair the last attempt, and its legs that have a result.
        self._attempts: dict[Key, tuple[int, set[int]]] = {}
        #: The number of matches that ended before the server's first answer was complete.
        self._ended_before: int | None = None
        self._results: Results | None = None
        self._pairs: int | None = None
        self._pairs_are_current = False
        self.update(event)

    def update(self, event: Tournament) -> None:
        """Take over whether the tournament is over, and which entrants are withdrawn."""
        self.over = event.over
        self.withdrawn = event.withdrawn
        self._results = None
        self._pairs_are_current = False

    def put(self, fixture: Fixture) -> bool:
        """Note a match that started or ended. Returns True if its end is new."""
        before = self._fixtures.get(fixture.match)
        self._fixtures[fixture.match] = fixture
        self._results = None
        if fixture.winner is None:
            self.running[fixture.match] = fixture
            return False
        self.running.pop(fixture.match, None)
        self._count(fixture)
        return before is None or before.winner is None

    def catch_up(self) -> None:
        """Note that all earlier matches are known, and that the next ones are new."""
        if self._ended_before is None:
            self._ended_before = self.ended
            self._pairs_are_current = False

    @property
    def is_caught_up(self) -> bool:
        """Whether all matches are known that were played before this program began."""
        return self._ended_before is not None

    @property
    def fixtures(self) -> Iterable[Fixture]:
        """All matches, each with its last fixture."""
        return self._fixtures.values()

    @property
    def results(self) -> Results:
        """The results of all matches so far."""
        if self._results is None:
            self._results = Results(self.spec, self.withdrawn, self._fixtures.values())
        return self._results

    def report(self) -> Report:
        """Return the report on all matches so far."""
        return self.results.report(self.notes)

    @property
    def matches(self) -> int | None:
        """The number of matches of the whole tournament; None while that is not known."""
        if not self._pairs_are_current:  # it changes only when an entrant is withdrawn
            self._pairs = self.results.pairs
            self._pairs_are_current = True
        return None if self._pairs is None else 2 * self._pairs

    def remaining_s(self, now: float) -> float | None:
        """Return the seconds that the rest takes at the present rate; None if not known."""
        done = self.ended - (self._ended_before or 0)
        if not done or self.matches is None:
            return None
        return max(0, self.matches - self.ended) * (now - self.started_at) / done

    def matches_per_hour(self, now: float) -> float | None:
        """Return the matches that ended in an hour since this program began; None without any."""
        done = self.ended - (self._ended_before or 0)
        return 3600 * done / (now - self.started_at) if done and now > self.started_at else None

    def _count(self, fixture: Fixture) -> None:
        key = key_of(fixture)
        attempt, legs = self._attempts.get(key, (0, set[int]()))
        if fixture.attempt > attempt:
            self.ended -= len(legs)
            attempt, legs = self._attempts[key] = fixture.attempt, set[int]()
        if fixture.attempt == attempt and fixture.winner and fixture.leg not in legs:
            legs.add(fixture.leg)
            self.ended += 1


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


def stored_progress(stored: StoredTournament) -> TournamentProgress:
    """Return the state of a stored tournament. Raises ClickException if it cannot be read."""
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
