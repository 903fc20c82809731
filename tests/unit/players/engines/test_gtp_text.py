"""Commands and responses of GTP as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playout.players.engines.gtp import (
    GtpCommand,
    GtpError,
    parse_command,
    response,
    seat_of,
    seconds,
    whole_number,
)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("name", GtpCommand("", "name", [])),
        ("  12\tplay  b  E5 # a comment\r", GtpCommand("12", "play", ["b", "E5"])),
        ("007 undo", GtpCommand("007", "undo", [])),
        ("pl\x01ay\x7f b e5", GtpCommand("", "play", ["b", "e5"])),
        ("12", None),
        ("12 # nothing", None),
        ("# a comment", None),
        (" \t\r", None),
        ("12x", GtpCommand("", "12x", [])),
    ],
)
def test_a_line_is_a_command_or_nothing(line: str, command: GtpCommand | None) -> None:
    assert parse_command(line) == command


@given(st.text(max_size=80))
def test_any_line_can_be_read(line: str) -> None:
    command = parse_command(line)
    assert command is None or (command.name and "\n" not in command.name)


def test_a_response_repeats_the_number() -> None:
    command = GtpCommand("5", "name", [])
    assert response(command, "Playout") == "=5 Playout\n"
    assert response(command, "") == "=5\n"
    assert response(command, "\nA B\n1 2") == "=5\nA B\n1 2\n"
    assert (
        response(GtpCommand("", "x", []), "unknown command", failed=True) == "? unknown command\n"
    )


def test_colours_are_seats() -> None:
    assert [seat_of(each) for each in ("b", "BLACK", "w", "White")] == [1, 1, 2, 2]
    for text in ("", "x", "blackish"):
        with pytest.raises(GtpError, match="is no colour"):
            seat_of(text)


@pytest.mark.parametrize("text", ["", "1.5", "-1", "1e3", "nan", "inf", "11", "9" * 30, "\u0663"])
def test_a_number_outside_its_bounds_is_refused(text: str) -> None:
    with pytest.raises(GtpError, match="whole number from 0 to 10"):
        whole_number(text, 0, 10)


@pytest.mark.parametrize("text", ["", "-1", "nan", "inf", "1e9", "9" * 12, "1.2.3"])
def test_a_time_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(GtpError, match="number of seconds"):
        seconds(text)


def test_a_time_may_have_a_fraction() -> None:
    assert seconds("12.5") == 12.5
