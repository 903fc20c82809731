"""The hours in which ladders pair matches, and the openings of their pairs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

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
