"""Notation of time controls: parsing, canonical spelling, rejected notations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playout.protocol.messages import TimeControl
from playout.protocol.time_control import (
    NOTATIONS,
    TimeControlError,
    canonical_time_control,
    clock_class,
    parse_time_control,
    parse_time_controls,
    spell_time_control,
    spell_time_controls,
)

EXAMPLES = [
    ("1/move", TimeControl(0.0, 0.0, 1, 1.0)),
    ("0.05/move", TimeControl(0.0, 0.0, 1, 0.05)),
    ("300+3", TimeControl(300.0, 3.0, 0, 0.0)),
    ("300+0", TimeControl(300.0, 0.0, 0, 0.0)),
    ("1.5+0.25", TimeControl(1.5, 0.25, 0, 0.0)),
    ("600+5x30", TimeControl(600.0, 0.0, 5, 30.0)),
    ("0+2x10", TimeControl(0.0, 0.0, 2, 10.0)),
    ("120d12", TimeControl(120.0, 0.0, 0, 0.0, 12.0)),
    ("1.5d0.25", TimeControl(1.5, 0.0, 0, 0.0, 0.25)),
    ("999999.999+999999.999", TimeControl(999999.999, 999999.999, 0, 0.0)),
    ("none", None),
]


@pytest.mark.parametrize(("text", "time_control"), EXAMPLES)
def test_notation_both_ways(text: str, time_control: TimeControl | None) -> None:
    assert parse_time_control(text) == time_control
    assert spell_time_control(time_control) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (" 300+3 ", "300+3"),
        ("NONE", "none"),
        ("1.000/Move", "1/move"),
        ("0060+05X030.50", "60+5x30.5"),
        ("0+1x30", "30/move"),
        (" 0120.0D012", "120d12"),
        ("120d0", "120+0"),
    ],
)
def test_one_spelling_for_equal_controls(text: str, canonical: str) -> None:
    assert canonical_time_control(text) == canonical


@pytest.mark.parametrize(
    "text",
    [
        "", "1", "fast", "300", "300+", "+3", "300+-3", "-300+3", "300 + 3", "300+3+3", "1/moves",
        "0/move", "0+0", "0+3", "0+0x30", "300+0x30", "300+5x0", "nan+1", "inf/move", "1e3+1",
        "1.2345/move", "1000000/move", "600+1000x1", "600+1.5x30", "٣/move", "1/move\n1/move",
        "0d3", "120d", "d5", "120d-3", "120+3d5",
    ],
)  # fmt: skip
def test_a_bad_notation_is_told_what_is_allowed(text: str) -> None:
    with pytest.raises(TimeControlError) as refused:
        parse_time_control(text)
    assert NOTATIONS in str(refused.value)
    assert repr(text) in str(refused.value)


# Eighths of a second and thousandths.
times = st.integers(0, 800).map(lambda eighths: eighths / 8)
lengths = st.integers(1, 800).map(lambda eighths: eighths / 8)
controls = st.builds(TimeControl, lengths, times, st.just(0), st.just(0.0)) | st.builds(
    TimeControl, times, st.just(0.0), st.integers(1, 5), lengths
)
controls |= st.builds(TimeControl, lengths, st.just(0.0), st.just(0), st.just(0.0), lengths)
thousandths = st.integers(1, 999_999_999).map(lambda n: n / 1000)
fine_controls = st.builds(
    TimeControl, thousandths, thousandths, st.just(0), st.just(0.0)
) | st.builds(TimeControl, thousandths, st.just(0.0), st.integers(1, 999), thousandths)


@given(controls | fine_controls)
def test_the_spelling_of_a_control_reads_back_as_it(time_control: TimeControl) -> None:
    assert parse_time_control(spell_time_control(time_control)) == time_control


def test_a_match_may_have_two_time_controls() -> None:
    both = parse_time_controls("60+1 | 1/move")
    assert both == (parse_time_control("60+1"), parse_time_control("1/move"))
    assert spell_time_controls(both) == "60+1 | 1/move"
    assert spell_time_controls(parse_time_controls("60+1 | 60+1.0")) == "60+1"
    assert parse_time_controls("none") is None
    assert spell_time_controls(None) == "none"
    with pytest.raises(TimeControlError, match="either both players have one"):
        parse_time_controls("60+1 | none")


@pytest.mark.parametrize(
    ("clock", "expected"),
    [
        ("0.1/move", "bullet"),
        ("1/move", "bullet"),
        ("60+0", "bullet"),
        ("10+0.1", "bullet"),
        ("2/move", "fast"),
        ("180+2", "fast"),
        ("300+3", "fast"),
        ("300+0", "fast"),
        ("10/move", "fast"),
        ("600+5x30", "slow"),
        ("120d12", "slow"),
        ("none", "slow"),
        ("86400/move", "slow"),
        ("10+0.1 | 300+0", "fast"),
    ],
)
def test_the_class_of_a_clock_follows_from_the_seconds_a_move(clock: str, expected: str) -> None:
    assert clock_class(clock) == expected
