"""playout.server.ladder.hours: the hours of the day in which matches are paired."""

from __future__ import annotations

import pytest

from playout.server.ladder.hours import LadderHours, LadderHoursError, parse_hours

HOUR, DAY = 3600.0, 24 * 3600.0
#: A midnight in UTC.
MIDNIGHT = 20_000 * DAY


def hours(*texts: str) -> LadderHours:
    found = parse_hours(texts)
    assert found
    return found


@pytest.mark.parametrize(
    ("spans", "open_at", "closed_at"),
    [
        (("08:00-20:00",), (8, 12, 19.99), (7.99, 20, 0)),
        (("20:00-08:00",), (20, 23.99, 0, 7.99), (8, 19.99)),
        (("9:30-10:00", "12:00-24:00"), (9.5, 12, 23.99), (9.49, 10, 0)),
    ],
)
def test_hours_are_open_from_their_first_minute_until_before_their_last(
    spans: tuple[str, ...], open_at: tuple[float, ...], closed_at: tuple[float, ...]
) -> None:
    found = hours(*spans)
    assert all(found.is_open(MIDNIGHT + each * HOUR) for each in open_at)
    assert not any(found.is_open(MIDNIGHT + each * HOUR) for each in closed_at)


def test_the_next_change_is_the_next_time_at_which_matches_begin_or_cease() -> None:
    night = hours("20:00-08:00", "22:00-06:00")
    assert night.next_change(MIDNIGHT) == MIDNIGHT + 8 * HOUR
    assert night.next_change(MIDNIGHT + 8 * HOUR) == MIDNIGHT + 20 * HOUR
    assert night.next_change(MIDNIGHT + 20 * HOUR) == MIDNIGHT + DAY + 8 * HOUR
    assert night.opens_at(MIDNIGHT + 9 * HOUR) == MIDNIGHT + 20 * HOUR
    assert night.opens_at(MIDNIGHT) is None


def test_hours_that_cover_the_day_never_change() -> None:
    assert hours("00:00-24:00").next_change(MIDNIGHT) is None
    assert hours("06:00-18:00", "18:00-06:00").next_change(MIDNIGHT) is None


def test_hours_are_spelled_as_they_are_read() -> None:
    assert str(hours("9:30-10:00", "20:00-24:00")) == "09:30-10:00, 20:00-24:00 UTC"
    assert parse_hours(()) is None


@pytest.mark.parametrize("text", ["", "8-20", "08:00", "08:00-08:00", "24:00-00:00", "08:60-09:00",
                                  "08:00-24:01", "08:00-20:00 UTC", "-1:00-08:00"])  # fmt: skip
def test_a_text_that_is_no_span_is_an_error_that_shows_one(text: str) -> None:
    with pytest.raises(LadderHoursError, match="20:00-08:00"):
        parse_hours((text,))


def test_an_error_quotes_the_beginning_of_a_text() -> None:
    with pytest.raises(LadderHoursError) as refused:
        parse_hours(("x" * 20_000,))
    assert len(str(refused.value)) < 200
