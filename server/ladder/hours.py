"""The hours of the day in which ladders pair matches, in UTC: `20:00-08:00`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

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
