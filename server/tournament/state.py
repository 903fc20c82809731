"""The state of a running tournament: what was played, and which matches are due."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from msgspec import structs

from playout import games
from playout.protocol.messages import Fixture
from playout.protocol.names import skeleton
from playout.protocol.tournament_spec import Sprt, TournamentSpec, loads
from playout.ratings import sprt
from playout.ratings.book import Book
from playout.ratings.openings import Opening
from playout.ratings.pairs import Key, Pair, PairScore
from playout.server.model.records import MatchEnded, MatchStarted, StoredTournament
from playout.server.tournament import formats, spec_validation
from playout.server.tournament.formats.core.format import without_left_out

Leg = Literal[1, 2]
LEGS: tuple[Leg, Leg] = (1, 2)

#: The number of pairs of a schedule that are made in a step, 4 microseconds each.
PAIRS_A_STEP = 500


class MatchSlot(NamedTuple):
    """The place of a match in a tournament: its pair, which of the two, and the attempt from 1."""

    key: Key
    leg: Leg
    attempt: int

    def __str__(self) -> str:
        return ".".join(map(str, (*self.key, self.leg, self.attempt)))


def parse_slot(text: str) -> MatchSlot:
    """Return the slot of its text form, as in `1.2.1.1.1`. Raises ValueError."""
    round_, board, number, leg, attempt = map(int, text.split("."))
    if leg not in LEGS:
        raise ValueError(f"a pair has no match number {leg}")
    return MatchSlot((round_, board, number), leg, attempt)


class DueMatch(NamedTuple):
    """A match that can begin when both entrants are connected; the first moves first."""

    slot: MatchSlot
    game: str
    entrants: tuple[int, int]
    opening: Opening


class TournamentState:
    """One tournament; its state follows from its specification and from the stored matches."""

    def __init__(
        self, tournament: str, spec: TournamentSpec, withdrawn: Iterable[int] = ()
    ) -> None:
        """`withdrawn` are entrants in the order of their withdrawal.

        Raises SpecError for an unknown game or format. Without `prepare`, openings and pairs are
        made when they are needed.
        """
        self.id = tournament
        self.spec = spec
        #: The specification without given openings, which may be thousands: for messages.
        self.outline = replace(spec, openings=replace(spec.openings, lines={}))
        self.withdrawn = list(withdrawn)
        self.over = False
        #: By match id, in the order of their start.
        self.fixtures: dict[str, Fixture] = {}
        self.running: set[str] = set()
        self.entrants = {skeleton(e.name): place for place, e in enumerate(spec.entrants)}
        self._format = formats.load(spec)
        self._books = {game: Book(game, spec.openings, spec.seed) for game in spec.games}
        #: The book that lacks the opening of the next match.
        self._incomplete: Book | None = None
        self._attempts: dict[Key, int] = {}
        #: The matches of the last attempt at each pair.
        self._legs: dict[Key, dict[Leg, Fixture]] = {}
        #: The running matches of earlier attempts.
        self._void: set[str] = set()
        self._results: dict[Key, PairScore] = {}
        #: Digests of the played matches, to recognize repetitions.
        self._played: set[str] = set()
        self._known: list[Pair] | None = None
        #: The rest of the schedule while it is made in steps, and its first pairs.
        self._schedule: Iterator[Pair | None] | None = None
        self._scheduled: list[Pair] = []
        self._complete = 0
        self._test = _Test(spec.sprt) if spec.sprt and self._format.has_test else None

    def prepare(self) -> Iterator[None]:
        """Make the first openings and pairs, in steps of a few milliseconds.

        Raises OpeningError for a game without openings.
        """
        for book in self._books.values():
            while book.find(0) is None:
                book.prepare()
                yield
        while self.needs_pairs:
            self.prepare_pairs()
            yield

    @property
    def needs_pairs(self) -> bool:
        """Whether the last results may have made pairs known: see `prepare_pairs`."""
        return self._known is None

    def prepare_pairs(self) -> None:
        """Do a step of the work for the known pairs, in a few milliseconds.

        Without it, all pairs are made when they are needed.
        """
        if self._schedule is None:
            self._schedule = iter(self._format.schedule(self._results, self.withdrawn))
        for made, pair in enumerate(self._schedule, start=1):
            if pair is None:
                return
            self._scheduled.append(pair)
            if made == PAIRS_A_STEP:
                return
        self._known = without_left_out(self._scheduled, self._results, self.withdrawn)
        self._schedule, self._scheduled = None, []

    def due(self, free: Container[int]) -> Iterator[DueMatch]:
        """Yield the matches between `free` entrants that can begin, in schedule order.

        It stops at the first match whose opening is not prepared: see `needs_opening`.
        """
        self._incomplete = None
        if self.over:
            return
        for pair in itertools.islice(self._pairs(), self._complete_pairs(), None):
            first, second = pair.entrants
            if first in free and second in free and pair.key not in self._results:
                legs = self._legs.get(pair.key, ())
                attempt = self._attempts.get(pair.key, 1)
                for leg in LEGS:
                    if leg not in legs and first in free and second in free:
                        book = self._books[pair.game]
                        opening = book.find(pair.opening)
                        if opening is None:
                            self._incomplete = book
                            return
                        slot = MatchSlot(pair.key, leg, attempt)
                        yield DueMatch(slot, pair.game, _seated(pair, leg), opening)

    @property
    def needs_opening(self) -> bool:
        """Whether a match waits for its opening: see `prepare_opening`."""
        return self._incomplete is not None

    def prepare_opening(self) -> None:
        """Do a step of the work for the opening that a match waits for. Raises OpeningError."""
        if self._incomplete:
            self._incomplete.prepare()

    def match_started(self, started: MatchStarted) -> Fixture:
        """Note that a match of the tournament has started; return its fixture."""
        slot = parse_slot(started.fixture or "")
        fixture = Fixture(
            tournament=self.id,
            round=slot.key[0],
            board=slot.key[1],
            number=slot.key[2],
            leg=slot.leg,
            attempt=slot.attempt,
            match=started.match,
            game=started.game,
            players=started.players,
            core_speed=started.core_speed,
        )
        self.fixtures[started.match] = fixture
        self.running.add(started.match)
        if slot.attempt > self._attempts.get(slot.key, 0):
            self._begin_attempt(slot.key, slot.attempt)
        if self._counts(fixture):
            self._legs[slot.key][slot.leg] = fixture
        else:
            self._void.add(started.match)
        return fixture

    def match_ended(self, ended: MatchEnded, actions: Sequence[int]) -> Fixture:
        """Note that a match has ended; return its fixture with the result.

        Without a result, its pair is played again.
        """
        before = self.fixtures[ended.match]
        digest = _digest(before, actions)
        fixture = structs.replace(
            before,
            winner=ended.winner,
            reason=ended.reason,
            plies=len(actions),
            repeated=bool(ended.winner) and digest in self._played,
        )
        self.fixtures[ended.match] = fixture
        self.running.discard(ended.match)
        self._void.discard(ended.match)
        key = key_of(fixture)
        if self._counts(fixture):
            if ended.winner == 0:
                self._begin_attempt(key, self._attempts[key] + 1)
            else:
                self._played.add(digest)
                self._legs[key][fixture.leg] = fixture
                self._score(key)
        return fixture

    def void_matches(self) -> list[str]:
        """Return the running matches that do not count, as the other match of the pair is void."""
        return list(self._void)

    def is_decided(self) -> bool:
        """Return whether no match is left: the test is decided, or all pairs are complete."""
        if self._test and self._test.accepts(self._pairs()):
            return True
        return not self.running and self._complete_pairs() == len(self._pairs())

    def withdraw(self, entrant: int) -> None:
        """Continue without an entrant, which cannot return."""
        self.withdrawn.append(entrant)
        self._complete = 0
        if self._known and not self._format.depends_on_results:
            self._known = without_left_out(self._known, self._results, self.withdrawn)
        else:
            self._forget_pairs()

    def _pairs(self) -> list[Pair]:
        if self._known is None:
            self._known = self._format.pairs(self._results, self.withdrawn)
        return self._known

    def _forget_pairs(self) -> None:
        """Forget the pairs, so that they are made again."""
        self._known, self._schedule, self._scheduled = None, None, []

    def _complete_pairs(self) -> int:
        """Return the number of complete pairs before the first open one.

        It counts from the last result on, because the schedule may have thousands of pairs, and
        this is called after each match.
        """
        pairs = self._pairs()
        while self._complete < len(pairs) and pairs[self._complete].key in self._results:
            self._complete += 1
        return self._complete

    def _counts(self, fixture: Fixture) -> bool:
        return fixture.attempt == self._attempts.get(key_of(fixture))

    def _begin_attempt(self, key: Key, attempt: int) -> None:
        """Begin another attempt at a pair; a running match of the last attempt is void."""
        before = (fixture.match for fixture in self._legs.get(key, {}).values())
        self._void.update(match for match in before if match in self.running)
        self._attempts[key], self._legs[key] = attempt, {}

    def _score(self, key: Key) -> None:
        """Score the pair if both of its matches have ended."""
        legs = self._legs[key]
        if len(legs) < 2 or any(fixture.winner is None for fixture in legs.values()):
            return
        first, second = legs[1], legs[2]
        self._results[key] = PairScore(_share(first.winner, 1), _share(second.winner, 2))
        if self._known is None:
            self._forget_pairs()
        elif self._format.knows_more(len(self._known), self._results):
            if self._format.depends_on_results:
                self._forget_pairs()
            else:
                self._known += self._format.more(len(self._known), self._results)
        if self._test:
            self._test.add(key, self._results[key], first.repeated and second.repeated)


class _Test:
    """A sequential test; it counts complete pairs in schedule order, up to the first gap."""

    def __init__(self, test: Sprt) -> None:
        self._accepted = False
        self._test = test
        self._bounds = sprt.bounds(test)
        self._waiting: dict[Key, PairScore | None] = {}
        self._counts = [0] * 5
        self._given = 0

    def add(self, key: Key, score: PairScore, repeated: bool) -> None:
        """Add a complete pair; a `repeated` one is no evidence."""
        self._waiting[key] = None if repeated else score

    def accepts(self, pairs: Sequence[Pair]) -> bool:
        """Return whether the pairs before the first open one decide the test.

        `pairs` are all known pairs, in schedule order.
        """
        rows = []
        while self._given < len(pairs) and pairs[self._given].key in self._waiting:
            pair = pairs[self._given]
            self._given += 1
            score = self._waiting.pop(pair.key)
            if score is not None:
                points = score.total if pair.entrants[0] == 0 else 2 - score.total
                self._counts[int(2 * points)] += 1
                rows.append(tuple(self._counts))
        if rows and not self._accepted:
            lower, upper = self._bounds
            self._accepted = any(not lower < each < upper for each in sprt.llrs(rows, self._test))
        return self._accepted


class StoredGame(NamedTuple):
    """A stored match of a tournament, with the values on which the tournament depends."""

    started: MatchStarted
    ended: MatchEnded | None
    actions: Sequence[int]


def restore_tournament(
    stored: StoredTournament, games_: Sequence[StoredGame] | None = None
) -> TournamentState:
    """Return the state of a stored tournament, from `games_` or from the matches in `stored`.

    Raises SpecError, OpeningError, msgspec.DecodeError: an older version may have stored a
    specification that is not valid in this one.
    """
    created, spec = stored.created, loads(stored.created.spec)
    spec_validation.check_stored(spec)
    if games_ is None:
        games_ = [
            StoredGame(each.started, each.ended, [move.action for move in each.moves])
            for each in stored.matches
        ]
    tournament = TournamentState(created.tournament, spec, stored.withdrawn)
    for started, _, _ in games_:
        tournament.match_started(started)
    finished = [(ended, actions) for _, ended, actions in games_ if ended]
    for ended, actions in sorted(finished, key=lambda each: each[0].at):
        tournament.match_ended(ended, actions)
    tournament.over = stored.ended is not None
    return tournament


def fixtures_of(stored: StoredTournament) -> list[Fixture]:
    """Return the fixtures of a stored tournament by start. Raises as `restore_tournament`."""
    return list(restore_tournament(stored).fixtures.values())


def key_of(fixture: Fixture) -> Key:
    """Return the key of the fixture's pair in the schedule."""
    return fixture.round, fixture.board, fixture.number


def _seated(pair: Pair, leg: Leg) -> tuple[int, int]:
    first, second = pair.entrants
    return (first, second) if leg == 1 else (second, first)


def _share(winner: int | None, seat: Leg) -> float:
    """Return the points of the player in that seat."""
    return 1.0 if winner == seat else 0.5 if winner == games.TIE else 0.0


def _digest(fixture: Fixture, actions: Iterable[int]) -> str:
    """Return a digest that is equal for matches of the same game, players and moves."""
    parts = (fixture.game, *fixture.players, *map(str, actions))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
