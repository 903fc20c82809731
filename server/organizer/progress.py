"""How a tournament stands, as the server has told it."""

from __future__ import annotations

from server.model.messages import Fixture, Tournament
from server.model.tournament_spec import TournamentSpec
from server.tournament.pairs import Key
from server.tournament.report import Report
from server.tournament.results import Results
from server.tournament.state import key_of


class TournamentProgress:
    """What is known of one tournament, which changes as the server says more.

    What is asked at each match is counted along, so that long tournaments cost no more.
    """

    def __init__(self, told: Tournament, now: float, notes: tuple[str, ...] = ()) -> None:
        """`notes` are for the report."""
        self.id = told.tournament
        self.spec: TournamentSpec = told.spec
        self.began_at = now
        self.notes = notes
        self.running: dict[str, Fixture] = {}
        #: How many matches have brought a result that counts, or will when the pair is complete.
        self.ended = 0
        self._known: dict[str, Fixture] = {}
        #: For each pair the last attempt, and which of its matches have a result.
        self._results: dict[Key, tuple[int, set[int]]] = {}
        #: How many matches had ended before.
        self._before: int | None = None
        self._gathered: Results | None = None
        self._pairs: int | None = None
        self._counted = False
        self.tell(told)

    def tell(self, told: Tournament) -> None:
        """It is over, or goes on without somebody."""
        self.over = told.over
        self.out = told.withdrawn
        self._gathered = None
        self._counted = False

    def put(self, fixture: Fixture) -> bool:
        """A match begins or has ended. True if it has ended, and that was not known."""
        before = self._known.get(fixture.match)
        self._known[fixture.match] = fixture
        self._gathered = None
        if fixture.winner is None:
            self.running[fixture.match] = fixture
            return False
        self.running.pop(fixture.match, None)
        self._count(fixture)
        return before is None or before.winner is None

    def caught_up(self) -> None:
        """All that there was has been told."""
        if self._before is None:
            self._before = self.ended
            self._counted = False

    @property
    def is_caught_up(self) -> bool:
        """Has all been told that there was before?"""
        return self._before is not None

    @property
    def gathered(self) -> Results:
        """What follows from it."""
        if self._gathered is None:
            self._gathered = Results(self.spec, self.out, self._known.values())
        return self._gathered

    def report(self) -> Report:
        """All that it has shown."""
        return self.gathered.report(self.notes)

    @property
    def matches(self) -> int | None:
        """How many there will be, if that is known."""
        if not self._counted:  # it changes only when somebody is suspended
            self._pairs = self.gathered.pairs
            self._counted = True
        return None if self._pairs is None else 2 * self._pairs

    def left_s(self, now: float) -> float | None:
        """How long it will last if it goes on like this; None if nobody can tell."""
        done = self.ended - (self._before or 0)
        if not done or self.matches is None:
            return None
        return max(0, self.matches - self.ended) * (now - self.began_at) / done

    def _count(self, fixture: Fixture) -> None:
        key = key_of(fixture)
        attempt, legs = self._results.get(key, (0, set[int]()))
        if fixture.attempt > attempt:
            self.ended -= len(legs)
            attempt, legs = self._results[key] = fixture.attempt, set[int]()
        if fixture.attempt == attempt and fixture.winner and fixture.leg not in legs:
            legs.add(fixture.leg)
            self.ended += 1
