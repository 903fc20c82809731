"""A tournament as it is held: what has been played of it, and what is to be played next."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from msgspec import structs

import games
from server.model.messages import Fixture
from server.model.names import skeleton
from server.model.records import MatchEnded, MatchStarted, StoredTournament
from server.model.tournament_spec import Sprt, TournamentSpec, loads
from server.tournament import formats, sprt
from server.tournament.openings import Book, Opening
from server.tournament.pairs import Key, Pair, PairScore

Leg = Literal[1, 2]
LEGS: tuple[Leg, Leg] = (1, 2)


class MatchSlot(NamedTuple):
    """Which match of a tournament: the first or second of a pair, and how often that was tried."""

    key: Key
    leg: Leg
    attempt: int

    def __str__(self) -> str:
        return ".".join(map(str, (*self.key, self.leg, self.attempt)))


def parse_slot(text: str) -> MatchSlot:
    """The slot that is spelled so. Raises ValueError."""
    round_, board, number, leg, attempt = map(int, text.split("."))
    if leg not in LEGS:
        raise ValueError(f"a pair has no match number {leg}")
    return MatchSlot((round_, board, number), leg, attempt)


class DueMatch(NamedTuple):
    """A match that can be played now, when both entrants are there; the first moves first."""

    slot: MatchSlot
    game: str
    entrants: tuple[int, int]
    opening: Opening


class TournamentState:
    """One tournament. All it knows follows from its specification and from what is stored."""

    def __init__(self, tournament: str, spec: TournamentSpec, out: Iterable[int] = ()) -> None:
        """`out`: who was suspended, in that order. Raises SpecError, OpeningError."""
        self.id = tournament
        self.spec = spec
        #: Of the openings only how they are found: anybody may ask for it, again and again.
        self.outline = replace(spec, openings=replace(spec.openings, lines={}))
        self.withdrawn = list(out)
        self.over = False
        #: By match, in the order in which they began.
        self.fixtures: dict[str, Fixture] = {}
        self.running: set[str] = set()
        self.entrants = {skeleton(e.name): place for place, e in enumerate(spec.entrants)}
        self._format = formats.load(spec)
        self._books = {game: Book(game, spec.openings, spec.seed) for game in spec.games}
        for book in self._books.values():
            book[0]  # now, and not when a match is to begin, it is found out if there is none
        self._attempts: dict[Key, int] = {}
        self._legs: dict[Key, dict[Leg, Fixture]] = {}
        self._results: dict[Key, PairScore] = {}
        self._lines: set[str] = set()
        self._known: list[Pair] | None = None
        self._complete = 0
        self._test = _Test(spec.sprt) if spec.sprt and self._format.has_test else None

    def due(self) -> Iterator[DueMatch]:
        """What is to be played and does not run yet, in schedule order."""
        if self.over:
            return
        for pair in itertools.islice(self._pairs(), self._complete_pairs(), None):
            if pair.key not in self._results:
                attempt = self._attempts.get(pair.key, 1)
                for leg in LEGS:
                    if leg not in self._legs.get(pair.key, ()):
                        opening = self._books[pair.game][pair.opening]
                        yield DueMatch(
                            MatchSlot(pair.key, leg, attempt),
                            pair.game,
                            _seated(pair, leg),
                            opening,
                        )

    def match_started(self, begun: MatchStarted) -> Fixture:
        """A match of it has begun."""
        slot = parse_slot(begun.fixture or "")
        fixture = Fixture(
            tournament=self.id,
            round=slot.key[0],
            board=slot.key[1],
            number=slot.key[2],
            leg=slot.leg,
            attempt=slot.attempt,
            match=begun.match,
            game=begun.game,
            players=begun.players,
        )
        self.fixtures[begun.match] = fixture
        self.running.add(begun.match)
        if slot.attempt > self._attempts.get(slot.key, 0):
            self._attempts[slot.key], self._legs[slot.key] = slot.attempt, {}
        if self._counts(fixture):
            self._legs[slot.key][slot.leg] = fixture
        return fixture

    def match_ended(self, finished: MatchEnded, actions: Sequence[int]) -> Fixture:
        """A match of it has ended. If that came to no result, its pair is played again."""
        before = self.fixtures[finished.match]
        line = _digest(before, actions)
        fixture = structs.replace(
            before,
            winner=finished.winner,
            reason=finished.reason,
            plies=len(actions),
            repeated=bool(finished.winner) and line in self._lines,
        )
        self.fixtures[finished.match] = fixture
        self.running.discard(finished.match)
        key = key_of(fixture)
        if self._counts(fixture):
            if finished.winner == 0:
                self._attempts[key] += 1
                self._legs[key] = {}
            else:
                self._lines.add(line)
                self._legs[key][fixture.leg] = fixture
                self._score(key)
        return fixture

    def void_matches(self) -> list[str]:
        """The matches that run and do not count any more: the other one of their pair is void."""
        return [match for match in self.running if not self._counts(self.fixtures[match])]

    def is_decided(self) -> bool:
        """Is there nothing left to be found out?"""
        if self._test and self._test.accepts(self._pairs()):
            return True
        return not self.running and self._complete_pairs() == len(self._pairs())

    def withdraw(self, entrant: int) -> None:
        """Go on without one of the entrants."""
        self.withdrawn.append(entrant)
        self._known, self._complete = None, 0

    def _pairs(self) -> list[Pair]:
        if self._known is None:
            self._known = self._format.pairs(self._results, self.withdrawn)
        return self._known

    def _complete_pairs(self) -> int:
        """With so many pairs, from the first on, one is through; none of these is looked at again.

        The schedule may be of thousands, and this is asked after each match.
        """
        pairs = self._pairs()
        while self._complete < len(pairs) and pairs[self._complete].key in self._results:
            self._complete += 1
        return self._complete

    def _counts(self, fixture: Fixture) -> bool:
        return fixture.attempt == self._attempts.get(key_of(fixture))

    def _score(self, key: Key) -> None:
        """Both matches of a pair may have ended by now."""
        legs = self._legs[key]
        if len(legs) < 2 or any(fixture.winner is None for fixture in legs.values()):
            return
        first, second = legs[1], legs[2]
        self._results[key] = PairScore(_share(first.winner, 1), _share(second.winner, 2))
        if self._known and self._format.knows_more(len(self._known), self._results):
            self._known = None
        if self._test:
            self._test.add(key, self._results[key], first.repeated and second.repeated)


class _Test:
    """A sequential test, which is given its pairs in schedule order, as far as they are known."""

    def __init__(self, test: Sprt) -> None:
        self._accepted = False
        self._test = test
        self._bounds = sprt.bounds(test)
        self._waiting: dict[Key, PairScore | None] = {}
        self._counts = [0] * 5
        self._given = 0

    def add(self, key: Key, score: PairScore, repeated: bool) -> None:
        """A pair is complete; one that is `repeated` is no evidence."""
        self._waiting[key] = None if repeated else score

    def accepts(self, pairs: Sequence[Pair]) -> bool:
        """Has it come to an end, by the pairs that follow each other without a gap?

        `pairs`: all there are, in schedule order.
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
    """A stored match of a tournament, as far as the tournament depends on it."""

    started: MatchStarted
    ended: MatchEnded | None
    actions: Sequence[int]


def restore_tournament(
    held: StoredTournament, sittings: Sequence[StoredGame] | None = None
) -> TournamentState:
    """A tournament as it was left; without `sittings`, these are what `held` has of its matches.

    Raises SpecError, OpeningError, msgspec.DecodeError.
    """
    organized = held.created
    if sittings is None:
        sittings = [
            StoredGame(kept.started, kept.ended, [move.action for move in kept.moves])
            for kept in held.matches
        ]
    contest = TournamentState(organized.tournament, loads(organized.spec), held.withdrawn)
    for begun, _, _ in sittings:
        contest.match_started(begun)
    ended = [(finished, actions) for _, finished, actions in sittings if finished]
    for finished, actions in sorted(ended, key=lambda each: each[0].at):
        contest.match_ended(finished, actions)
    contest.over = held.ended is not None
    return contest


def fixtures_of(held: StoredTournament) -> list[Fixture]:
    """The matches of a stored tournament, in the order in which they began. Raises as that."""
    return list(restore_tournament(held).fixtures.values())


def key_of(fixture: Fixture) -> Key:
    """The place of its pair in the schedule."""
    return fixture.round, fixture.board, fixture.number


def _seated(pair: Pair, leg: Leg) -> tuple[int, int]:
    first, second = pair.entrants
    return (first, second) if leg == 1 else (second, first)


def _share(winner: int | None, seat: Leg) -> float:
    """What who sat there has got."""
    return 1.0 if winner == seat else 0.5 if winner == games.TIE else 0.0


def _digest(fixture: Fixture, actions: Iterable[int]) -> str:
    """Of all that makes two matches the same."""
    said = (fixture.game, *fixture.players, *map(str, actions))
    return hashlib.sha256("\0".join(said).encode()).hexdigest()
