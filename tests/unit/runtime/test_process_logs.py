"""Lines of the log in JSON."""

from __future__ import annotations

import json
from typing import Any

from twisted.logger import LogLevel
from twisted.python.failure import Failure

from playout.server.runtime.process import _as_json, keep_error, last_errors


def line(**fields: Any) -> dict[str, Any]:
    event = {"log_time": 0.0, "log_level": LogLevel.info, "log_format": "it is"} | fields
    text = _as_json(event)
    assert text.endswith("}\n")
    assert text.count("\n") == 1
    read = json.loads(text)
    assert isinstance(read, dict)
    return read


def test_every_line_has_match_and_session() -> None:
    assert line() == {
        "time": "1970-01-01T00:00:00+00:00",
        "level": "info",
        "text": "it is",
        "match": None,
        "session": None,
    }
    assert line(match="34735dab09")["match"] == "34735dab09"


def test_fields_are_there_as_they_are_and_in_the_text() -> None:
    seen = line(log_format="{name} is here", name='Zoë "Z"', plies=3)
    assert (seen["name"], seen["plies"]) == ('Zoë "Z"', 3)
    assert seen["text"] == 'Zoë "Z" is here'


def test_formats_of_twisted_and_wrong_ones_are_shown_too() -> None:
    assert line(log_format="{now()} is the time", now=lambda: 5)["text"] == "5 is the time"
    assert "{name}" in line(log_format="{name} is here")["text"]
    assert line(log_format=None)["text"] == ""


def test_a_fault_has_its_traceback_and_an_older_event_no_time_of_its_own() -> None:
    try:
        raise ValueError("what happened")
    except ValueError:
        seen = line(log_failure=Failure(), time=5.0, isError=1)
    assert "Traceback" in seen["text"]
    assert "what happened" in seen["text"]
    assert seen["time"].startswith("1970")


def test_the_last_warnings_and_errors_are_kept() -> None:
    usual: dict[str, Any] = {
        "log_time": 7.0,
        "log_format": "fault {number}",
        "log_level": LogLevel.error,
    }
    for number in range(60):
        keep_error(usual | {"number": number})
        keep_error(usual | {"number": number, "log_level": LogLevel.info})
    keep_error(usual | {"number": "x" * 10_000, "log_level": LogLevel.warn})
    last, *others = last_errors()
    assert (last.level, len(last.text), len(others)) == ("warn", 2000, 49)
    assert (others[0].at, others[0].text, others[-1].text) == (7.0, "fault 59", "fault 11")
