"""The ledger of a tournament: its pairs, their attempts and legs, the scores and the test.

The state of a tournament follows from its specification, the withdrawals and its fixtures. The
ledger is built from the events as they happen, on the server and in `playout-tournament`, or from
stored records (`restored`). A pair has two legs, the matches with swapped colours. If a leg has no
result, the pair is played again, as another attempt; only the last attempt counts.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Self

from msgspec import DecodeError, structs

from playout import games
from playout.protocol.messages import Fixture, Reason
from playout.protocol.tournament_spec import Sprt, TournamentSpec, loads
from playout.ratings import evidence, sequential_tests
from playout.ratings.evidence import GAMES
from playout.ratings.luck import shares_without_luck
from playout.ratings.pairs import Key, OpeningError, Pair, PairScore
from playout.ratings.sequential_tests import Race
from playout.server.model.records import MatchEnded, MatchStarted, StoredTournament, total_luck
from playout.server.tournament import formats, spec_validation
from playout.server.tournament.format import without_left_out

Leg = Literal[1, 2]
LEGS: tuple[Leg, Leg] = (1, 2)
Played = tuple[Pair, PairScore]

#: The number of pairs of a schedule that are made in a step, 4 microseconds each.
PAIRS_A_STEP = 500
#: The errors of a stored tournament that this version cannot restore: see `Ledger.restored`.
UNREADABLE = (games.SpecError, OpeningError, DecodeError, ValueError)


class MatchSlot(NamedTuple):
    """The place of a match in a tournament: its pair, its leg, and the attempt from 1."""

    key: Key
    leg: Leg
    attempt: int

    def fixture(self, started: MatchStarted) -> Fixture:
        """Return the fixture of the match in this slot when it has started."""
        return Fixture(
            tournament=started.tournament or "",
            round=self.key[0],
            board=self.key[1],
            number=self.key[2],
            leg=self.leg,
            attempt=self.attempt,
            match=started.match,
            game=started.game,
            players=started.players,
            core_speed=started.core_speed,
        )

    @property
    def is_first_attempt(self) -> bool:
        """Whether the pair has not been played again."""
        return self.attempt == 1

    def __str__(self) -> str:
        return ".".join(map(str, (*self.key, self.leg, self.attempt)))


def parse_slot(text: str) -> MatchSlot:
    """Return the slot of its text form, as in `1.2.1.1.1`. Raises ValueError."""
    round_, board, number, leg, attempt = map(int, text.split("."))
    if leg not in LEGS:
        raise ValueError(f"a pair has no match number {leg}")
    return MatchSlot((round_, board, number), leg, attempt)


class UpcomingMatch(NamedTuple):
    """A match that has not begun: its game, the names of its players, its round from 1."""

    game: str
    players: tuple[str, str]
    round: int


def seated(pair: Pair, leg: Leg) -> tuple[int, int]:
    """The entrants of a match of a pair, that with seat 1 first."""
    first, second = pair.entrants
    return (first, second) if leg == 1 else (second, first)


@dataclass
class Attempt:
    """An attempt at a pair; `legs` are its matches that are running or have a result."""

    number: int
    legs: dict[Leg, Fixture] = field(default_factory=dict)

    @property
    def score(self) -> PairScore | None:
        """The points of the entrant that moves first in leg 1; None if a leg has no result."""
        first, second = (self.legs.get(leg) for leg in LEGS)
        if not (first and second and first.winner and second.winner):
            return None
        return PairScore(_POINTS[first.winner], 1 - _POINTS[second.winner])

    @property
    def luck(self) -> float | None:
        """The luck of the entrant that moves first in leg 1; None if that of a leg is not known."""
        first, second = (self.legs[leg].luck if leg in self.legs else None for leg in LEGS)
        return None if first is None or second is None else first - second

    @property
    def repeated(self) -> bool:
        """Whether both matches had the same moves as earlier ones."""
        return len(self.legs) == 2 and all(each.repeated for each in self.legs.values())


#: The points of the first player of a match, by its winner.
_POINTS = {1: 1.0, games.TIE: 0.5, 2: 0.0}


class StoredGame(NamedTuple):
    """A stored match of a tournament, with the values on which the tournament depends."""

    started: MatchStarted
    ended: MatchEnded | None
    actions: Sequence[int]


class Ledger:
    """The matches of one tournament, and everything that follows from their results."""

    def __init__(
        self, tournament: str, spec: TournamentSpec, withdrawn: Iterable[int] = ()
    ) -> None:
        """`withdrawn` are entrants in the order of their withdrawal.

        Raises SpecError for an unknown format or a wrong number of entrants. Without
        `prepare_pairs`, pairs are made when they are needed.
        """
        self.id = tournament
        self.spec = spec
        self.format = formats.load(spec)
        self.withdrawn = list(withdrawn)
        self.over = False
        #: Whether the server starts the entrants, and whether no match begins at present.
        self.hosted = self.paused = False
        #: Maximum number of pairs that a race counts, in schedule order; None for all.
        self.pair_limit: int | None = None
        #: By match id, in the order of their start.
        self.fixtures: dict[str, Fixture] = {}
        self.running: dict[str, Fixture] = {}
        #: The number of matches whose result counts, or will count when the pair is complete.
        self.ended = 0
        #: The last attempt at each pair that has begun.
        self.attempts: dict[Key, Attempt] = {}
        #: The scores of the complete pairs.
        self.results: dict[Key, PairScore] = {}
        #: The running matches that do not count, because the pair is played again.
        self._void: dict[str, None] = {}
        #: For each digest of a match with a result, the match of the first pair with these moves.
        self._played: dict[str, str] = {}
        self._known: list[Pair] | None = None
        #: The rest of the schedule while it is made in steps, and its first pairs.
        self._schedule: Iterator[Pair | None] | None = None
        self._scheduled: list[Pair] = []
        self._complete = 0
        #: The LLR of the test after each of the `_tested` pairs that is evidence.
        self._llrs: list[float] = []
        self._tested = 0
        self._frequencies = evidence.Pentanomial().frequencies
        self._accepted: Literal["H0", "H1"] | None = None
        self._race: Race | None = None

    @classmethod
    def restored(cls, stored: StoredTournament, games_: Iterable[StoredGame] | None = None) -> Self:
        """Return a stored tournament, with the matches `games_` or those in `stored`.

        Raises one of `UNREADABLE`: an older version may have stored a specification that is not
        valid in this one.
        """
        spec = loads(stored.created.spec)
        spec_validation.check_stored(spec)
        ledger = cls(stored.created.tournament, spec, stored.withdrawn)
        if games_ is None:
            games_ = (
                StoredGame(each.started, each.ended, [move.action for move in each.moves])
                for each in stored.matches
            )
        finished = []
        for started, ended, actions in games_:
            ledger.put(parse_slot(started.fixture or "").fixture(started))
            if ended:
                finished.append((ended, actions))
        for ended, actions in sorted(finished, key=lambda each: each[0].at):
            ledger.match_ended(ended, actions)
        ledger.over = stored.ended is not None
        ledger.hosted, ledger.paused = bool(stored.created.hosted), bool(stored.created.paused)
        return ledger

    # Events.

    def put(self, fixture: Fixture) -> bool:
        """Note a match that has started or ended. Return whether its end is new."""
        before = self.fixtures.get(fixture.match)
        if before and before.winner is not None:
            self._put_again(fixture)
            return False
        self.fixtures[fixture.match] = fixture
        key = key_of(fixture)
        if key not in self.attempts or fixture.attempt > self.attempts[key].number:
            self._begin_attempt(key, fixture.attempt)
        attempt = self.attempts[key]
        counts = fixture.attempt == attempt.number
        if fixture.winner is None:
            self.running[fixture.match] = fixture
            if counts:
                attempt.legs[fixture.leg] = fixture
            else:
                self._void[fixture.match] = None
            return False
        self.running.pop(fixture.match, None)
        self._void.pop(fixture.match, None)
        if counts and fixture.winner == 0:
            self._begin_attempt(key, attempt.number + 1)
        elif counts:
            attempt.legs[fixture.leg] = fixture
            self.ended += 1
            self._score(key, attempt)
        return True

    def match_ended(self, ended: MatchEnded, actions: Sequence[int]) -> list[Fixture]:
        """Note that a match has ended; return the changed fixtures, that with the result first.

        Without a result, its pair is played again. A match repeats those of pairs that are earlier
        in the schedule, whichever has ended first: so evidence does not depend on the speed of
        matches. A pair that is played again may have the same moves.
        """
        before = self.fixtures[ended.match]
        key, digest = key_of(before), digest_of(before, actions)
        first = self.fixtures[self._played.get(digest, ended.match)]
        fixture = structs.replace(
            before,
            winner=ended.winner,
            reason=ended.reason,
            plies=len(actions),
            error=ended.text.partition(" crashed: ")[2] if ended.reason is Reason.CRASH else "",
            repeated=bool(ended.winner) and key_of(first) < key,
            luck=total_luck(ended.luck),
        )
        self.put(fixture)
        changed = [fixture]
        if ended.winner and key_of(first) >= key:
            self._played[digest] = ended.match
            if key_of(first) > key:
                changed.append(structs.replace(first, repeated=True))
                self._put_again(changed[-1])
        return changed

    def luck_measured(self, match: str, luck: str | None) -> Fixture | None:
        """Note the luck of the rolls of an ended match, as it is stored.

        Returns its fixture; None if the luck is not known.
        """
        total = total_luck(luck)
        if total is None:
            return None
        fixture = structs.replace(self.fixtures[match], luck=total)
        self._put_again(fixture)
        return fixture

    def withdraw(self, entrant: int) -> None:
        """Continue without an entrant, which cannot return."""
        self.withdrawn.append(entrant)
        self._complete = 0
        if self._race:  # pairs before its last result may be left out now
            self._race, self._tested = None, 0
        if self._known and not self.format.depends_on_results:
            self._known = without_left_out(self._known, self.results, self.withdrawn)
        else:
            self._forget_pairs()

    def change(self, spec: TournamentSpec) -> None:
        """Continue with a specification that has more rounds, or other or more entrants.

        The complete pairs stay: those of a replaced entrant are its successor's.
        """
        before, self.spec, self.format = self.format, spec, formats.load(spec)
        self.format.repeated, self.format.luck = before.repeated, before.luck
        self._complete = 0
        self._forget_pairs()

    # Pairs.

    @property
    def pairs(self) -> list[Pair]:
        """All known pairs that were or will be played, in schedule order."""
        if self._known is None:
            self._known = self.format.pairs(self.results, self.withdrawn)
        return self._known

    @property
    def needs_pairs(self) -> bool:
        """Whether the last results may have made pairs known: see `prepare_pairs`."""
        return self._known is None

    def prepare_pairs(self) -> None:
        """Do a step of the work for the known pairs, in a few milliseconds.

        Without it, all pairs are made when they are needed.
        """
        if self._schedule is None:
            self._schedule = iter(self.format.schedule(self.results, self.withdrawn))
        for made, pair in enumerate(self._schedule, start=1):
            if pair is None:
                return
            self._scheduled.append(pair)
            if made == PAIRS_A_STEP:
                return
        self._known = without_left_out(self._scheduled, self.results, self.withdrawn)
        self._schedule, self._scheduled = None, []

    @property
    def pair_count(self) -> int | None:
        """The number of pairs of the whole tournament; None if not yet decided."""
        return self.format.total(len(self.pairs), self.withdrawn)

    @property
    def complete_pairs(self) -> int:
        """The number of complete pairs before the first open one.

        It counts from the last result on, because the schedule may have thousands of pairs, and
        this is called after each match.
        """
        pairs = self.pairs
        while self._complete < len(pairs) and pairs[self._complete].key in self.results:
            self._complete += 1
        return self._complete

    def open_slots(self, pair: Pair) -> list[MatchSlot]:
        """The matches of a pair that have not begun; none if it is complete."""
        if pair.key in self.results:
            return []
        attempt = self.attempts.get(pair.key)
        number, begun = (attempt.number, attempt.legs) if attempt else (1, {})
        return [MatchSlot(pair.key, leg, number) for leg in LEGS if leg not in begun]

    def upcoming(self, most: int) -> list[UpcomingMatch]:
        """The first matches of the schedule that have not begun, as far as they are known."""
        if self.over or self.is_decided:
            return []
        names = [each.name for each in self.spec.entrants]
        found = (
            UpcomingMatch(pair.game, (names[first], names[second]), slot.key[0])
            for pair in itertools.islice(self.pairs, self.complete_pairs, None)
            for slot in self.open_slots(pair)
            for first, second in (seated(pair, slot.leg),)
        )
        return list(itertools.islice(found, most))

    @property
    def latest_round(self) -> int:
        """The number of the last round with known pairs."""
        return max((pair.key[0] for pair in self.pairs), default=0)

    @property
    def void_matches(self) -> list[str]:
        """The running matches that do not count, as the other match of the pair is void."""
        return list(self._void)

    @property
    def voided(self) -> int:
        """The number of attempts that were followed by another one."""
        return sum(each.number - (1 if each.legs else 2) for each in self.attempts.values())

    # Results.

    @property
    def is_decided(self) -> bool:
        """Whether no match is left: the test is decided, or all pairs are complete."""
        if self.accepted or (self.race and self.race.is_over):
            return True
        return not self.running and self.complete_pairs == len(self.pairs)

    @property
    def luck(self) -> Mapping[Key, float]:
        """The luck of the first entrant of complete pairs, in both matches, where it is known."""
        return self.format.luck

    @property
    def played(self) -> list[Played]:
        """The complete pairs, in schedule order; of a race, those that its evidence counts.

        So the numbers of a decided race do not depend on which later pairs were complete.
        """
        race = self.race
        pairs = itertools.islice(self.pairs, race.pairs if race else None)
        found = ((pair, self.results.get(pair.key)) for pair in pairs)
        return [(pair, score) for pair, score in found if score is not None]

    @property
    def counted_pairs(self) -> list[Played]:
        """The complete pairs that repeat no other pair: the evidence."""
        return [each for each in self.played if not self.attempts[each[0].key].repeated]

    @property
    def counted_matches(self) -> set[str]:
        """The ids of the matches of the counted pairs."""
        return {
            fixture.match
            for pair, _ in self.counted_pairs
            for fixture in self.attempts[pair.key].legs.values()
        }

    @property
    def llrs(self) -> Sequence[float]:
        """The LLR of the sequential test after each pair that is evidence; empty without a test.

        Only the pairs before the first open one count: quick matches must not count first. In a
        test without luck, a pair is open until its luck is known.
        """
        self._continue_test()
        return self._llrs

    @property
    def accepted(self) -> Literal["H0", "H1"] | None:
        """The hypothesis that the sequential test has accepted; None while it goes on."""
        self._continue_test()
        return self._accepted

    @property
    def race(self) -> Race | None:
        """The evidence of each candidate of a race; None for another format.

        Only the pairs before the first open one count, as for a sequential test, and none after the
        decision.
        """
        if self.spec.betting is None or not self.format.has_race:
            return None
        race = self._race or Race(self.spec.betting, len(self.spec.entrants) - 1)
        testable = self._testable_pairs
        if self.pair_limit is not None:
            testable = min(testable, self.pair_limit)
        since, self._tested, self._race = self._tested, testable, race
        for pair in itertools.islice(self.pairs, since, self._tested):
            if race.is_over:
                break
            repeated = pair.key in self.format.repeated
            luck = self.luck if self.spec.tests_without_luck else {}
            race.add_pair(pair, self.results[pair.key], repeated=repeated, luck=luck)
        return race

    @property
    def _testable_pairs(self) -> int:
        """The number of pairs before the first one that a test has to wait for."""
        complete = self.complete_pairs
        if not self.spec.tests_without_luck:
            return complete
        rest = itertools.islice(self.pairs, self._tested, complete)
        known = itertools.takewhile(lambda pair: pair.key in self.luck, rest)
        return self._tested + sum(1 for _ in known)

    def _continue_test(self) -> None:
        test = self.spec.sprt
        if test is None or not self.format.has_test:
            return
        since, self._tested = self._tested, self._testable_pairs
        if test.without_luck:
            if since < self._tested:
                self._test_without_luck(test)
            return
        new = [
            (pair, self.results[pair.key])
            for pair in itertools.islice(self.pairs, since, self._tested)
            if not self.attempts[pair.key].repeated
        ]
        if new:
            curve = sequential_tests.curve(new, test, self._frequencies)
            counts = evidence.pentanomial(0, new).frequencies
            self._frequencies = tuple(map(sum, zip(self._frequencies, counts, strict=True)))
            self._llrs += curve
            self._accepted = self._accepted or sequential_tests.verdict(curve, test).accepted

    def _test_without_luck(self, test: Sprt) -> None:
        """Compute the LLR after each pair again: its variance is that of all pairs before."""
        tested = itertools.islice(self.pairs, self._tested)
        played = [
            (pair, self.results[pair.key])
            for pair in tested
            if not self.attempts[pair.key].repeated
        ]
        raw = [score.total / GAMES for score in evidence.scores_of(0, played)]
        shares = shares_without_luck(0, played, self.luck)
        self._llrs = sequential_tests.curve_without_luck(raw, shares, test)
        self._accepted = sequential_tests.verdict(self._llrs, test).accepted

    def _put_again(self, fixture: Fixture) -> None:
        """Note a fixture of an ended match whose luck is known, or which is a repetition now."""
        self.fixtures[fixture.match] = fixture
        key = key_of(fixture)
        attempt = self.attempts[key]
        if fixture.attempt == attempt.number and fixture.leg in attempt.legs:
            attempt.legs[fixture.leg] = fixture
            if key in self.results:
                self._score(key, attempt)

    def _forget_pairs(self) -> None:
        """Forget the pairs, so that they are made again."""
        self._known, self._schedule, self._scheduled = None, None, []

    def _begin_attempt(self, key: Key, number: int) -> None:
        """Begin another attempt at a pair; the matches of the last one do not count any more."""
        before = self.attempts.get(key)
        self.attempts[key] = Attempt(number)
        if before is None:
            return
        legs = before.legs.values()
        self._void.update((each.match, None) for each in legs if each.match in self.running)
        self.ended -= sum(bool(each.winner) for each in legs)

    def _score(self, key: Key, attempt: Attempt) -> None:
        """Score the pair if both of its matches have ended."""
        if (score := attempt.score) is None:
            return
        self.results[key] = score
        if (luck := attempt.luck) is not None:
            self.format.luck[key] = luck
        if attempt.repeated:
            self.format.repeated.add(key)
        if self._known is None:
            self._forget_pairs()
        elif self.format.knows_more(len(self._known), self.results):
            if self.format.depends_on_results:
                self._forget_pairs()
            else:
                self._known += self.format.more(len(self._known), self.results)


def key_of(fixture: Fixture) -> Key:
    """Return the key of the fixture's pair in the schedule."""
    return fixture.round, fixture.board, fixture.number


def digest_of(fixture: Fixture, actions: Iterable[int]) -> str:
    """Return a digest that is equal for matches of the same game, players and moves."""
    parts = (fixture.game, *fixture.players, *map(str, actions))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
