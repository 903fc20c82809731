"""Pairings on a ladder: players of similar strength that have not met for the longest time.

Each version meets the nearest ones in rating in turn, because the result of a match between
neighbours has the most information. There are no rounds: a pair may begin whenever two are free.

When a pair ends, its two players are often the only free ones. If they met again at once, they
would meet forever. So while other matches run, whose players become free soon, they wait for other
opponents near them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from playout.protocol.tournament_spec import Openings
from playout.ratings.book import Book
from playout.ratings.pairs import Opening, OpeningError

# The hours of the day in which ladders pair matches, in UTC: `20:00-08:00`.


_MINUTE_S: Final = 60
_DAY: Final = 24 * 60
_SPAN: Final = re.compile(r"(\d{1,2}):(\d\d)-(\d{1,2}):(\d\d)")


class LadderHoursError(ValueError):
    """A text that is no span of hours; the message says what was expected."""


@dataclass(frozen=True)
class LadderHours:
    """Spans of the day, each with its first minute and the minute after its last one."""

    spans: tuple[tuple[int, int], ...]

    def is_open(self, at: float) -> bool:
        """Return whether a time, in seconds since 1970, lies in one of the spans."""
        minute = at / _MINUTE_S % _DAY
        return any(
            first <= minute < last if first < last else minute >= first or minute < last
            for first, last in self.spans
        )

    def next_change(self, at: float) -> float | None:
        """Return the next time at which a span begins or ends; None if matches always begin."""
        today = at - at % (_DAY * _MINUTE_S)
        ends = sorted(
            today + (day * _DAY + minute) * _MINUTE_S
            for day in (0, 1)
            for span in self.spans
            for minute in span
        )
        now_open = self.is_open(at)
        return next((end for end in ends if end > at and self.is_open(end) != now_open), None)

    def opens_at(self, at: float) -> float | None:
        """Return the time at which matches begin again; None while they do."""
        return None if self.is_open(at) else self.next_change(at)

    def __str__(self) -> str:
        spans = (f"{_spelled(first)}-{_spelled(last)}" for first, last in self.spans)
        return f"{', '.join(spans)} UTC"


def parse_hours(texts: Iterable[str]) -> LadderHours | None:
    """Return the hours with these spans; None without spans. Raises LadderHoursError."""
    spans = tuple(map(_parse_span, texts))
    return LadderHours(spans) if spans else None


def _parse_span(text: str) -> tuple[int, int]:
    found = _SPAN.fullmatch(text)
    if found:
        hours, minutes, last_hours, last_minutes = map(int, found.groups())
        first, last = hours * 60 + minutes, last_hours * 60 + last_minutes
        if max(minutes, last_minutes) < 60 and max(first, last) <= _DAY and first % _DAY != last:
            return first % _DAY, last
    raise LadderHoursError(
        f"{text[:50]!r} is not a span of the day: write its first and its last time in UTC, such "
        "as 20:00-08:00 or 12:00-24:00"
    )


def _spelled(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


# Openings of the pairs on a ladder: an unlimited number of random, undecided positions.


#: The number of random moves, halved for a game without usable positions after them.
PLIES: Final = 4
#: The number of openings after which a new book is made, as a book keeps all its openings.
BOOK_SIZE: Final = 200


class LadderOpenings:
    """The openings of a ladder, made when they are needed, a few milliseconds at a time."""

    def __init__(self, game: str, new_seed: Callable[[], int]) -> None:
        """`new_seed` returns another seed each time."""
        self._game = game
        self._new_seed = new_seed
        self._plies = PLIES
        self._renew()

    def find(self) -> Opening | None:
        """Return the next opening; None if it is not prepared yet."""
        return self._book.find(self._number)

    def used(self) -> None:
        """Note that a pair has begun with the opening that `find` returns."""
        self._number += 1
        if self._number == BOOK_SIZE:
            self._renew()

    def prepare(self) -> None:
        """Do a step of the work for the next opening, a few milliseconds long."""
        try:
            self._book.prepare()
        except OpeningError:  # all positions after this number of moves are decided
            self._plies //= 2
            self._renew()

    def _renew(self) -> None:
        self._book = Book(self._game, Openings(plies=self._plies), self._new_seed())
        self._number = 0


#: The number of opponents that a version meets in turn: those nearest in rating.
NEAREST: Final = 4

#: Two versions by their indices on the ladder, the smaller first.
Meeting = tuple[int, int]


class Contender(NamedTuple):
    """A version that is on the ladder now; two versions of one account never meet.

    `number` is its index in the ladder's entries. `since` is the number of the ladder's match after
    which it was free.
    """

    number: int
    account: str
    rating: float
    since: int


def meeting(one: int, other: int) -> Meeting:
    """Return the two indices in the order in which meetings are counted."""
    return (one, other) if one < other else (other, one)


def next_pair(
    present: Sequence[Contender],
    free: Sequence[Contender],
    met: Mapping[Meeting, int],
    running: frozenset[Meeting] = frozenset(),
) -> tuple[int, int] | None:
    """Return the indices of two free contenders that should play a pair now; None to wait.

    `present`: all versions on the ladder, including those that play. `met`: for each two that have
    met, the number of the ladder's match in which they met last. `running`: the meetings of running
    matches. The contender that has waited longest is paired first.
    """
    near = {each.number: _nearest(each, present) for each in present}
    for one in sorted(free, key=lambda each: (each.since, each.number)):
        rivals = [
            other
            for other in free
            if other.account != one.account and meeting(one.number, other.number) not in running
        ]
        if running:
            rivals = [
                other
                for other in rivals
                if (other.number in near[one.number] or one.number in near[other.number])
                and not _have_just_met(one, other, met)
            ]
        if rivals:
            other = min(rivals, key=lambda each: _preference(one, each, near[one.number], met))
            return one.number, other.number
    return None


def _preference(
    one: Contender, other: Contender, near: frozenset[int], met: Mapping[Meeting, int]
) -> tuple[bool, int, float, int]:
    """The sort key of an opponent; the best one has the smallest."""
    last = met.get(meeting(one.number, other.number), 0)
    return other.number not in near, last, abs(one.rating - other.rating), other.number


def _nearest(one: Contender, present: Sequence[Contender]) -> frozenset[int]:
    """The indices of the contenders of other accounts that are nearest in rating."""
    others = [each for each in present if each.account != one.account]
    others.sort(key=lambda each: (abs(each.rating - one.rating), each.number))
    return frozenset(each.number for each in others[:NEAREST])


def _have_just_met(one: Contender, other: Contender, met: Mapping[Meeting, int]) -> bool:
    """Whether the last match of both was against each other."""
    last = met.get(meeting(one.number, other.number), 0)
    return last > 0 and one.since == other.since == last
