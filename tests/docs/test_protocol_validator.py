"""The validator that is made from the tables of the protocol finds what they do not allow."""

from __future__ import annotations

from typing import Any

import pytest

from support.protocol_validator import event_faults, request_faults

WELCOME = {
    "type": "welcome",
    "protocol": 1,
    "session": "s",
    "name": "Ada",
    "software": "x",
    "games": [],
}
TOTALS = {"humans": 0, "bots": 0, "spectators": 0, "seeks": 0, "matches": 0, "games": {}}
MOVE = {"type": "move", "match": "m", "ply": 0, "action": 3}


@pytest.mark.parametrize(
    "message",
    [
        WELCOME,
        WELCOME | {"re": 2**53 - 1, "away": ["m"], "guest": True},
        {"type": "ping", "seconds": 60.0},
        {"type": "news", "totals": TOTALS, "came": [{"name": "Ada", "role": "bot"}]},
        {
            "type": "news",
            "opened": [{"type": "seeking", "seek": "s", "name": "Ada", "game": "nim", "seat": 1}],
        },
    ],
)
def test_an_event_that_the_page_describes_has_no_faults(message: dict[str, Any]) -> None:
    assert event_faults(message) == []


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        ({"type": "nothing"}, "no section of Events describes 'nothing'"),
        (WELCOME | {"guest": False}, "welcome.guest: sent, with its default false"),
        (WELCOME | {"mood": "good"}, "welcome.mood: not described"),
        (WELCOME | {"re": 2**53}, "welcome.re: 9007199254740992 is not int or string"),
        (WELCOME | {"games": ["nim", 1]}, "welcome.games[1]: 1 is not string"),
        ({"type": "ping"}, "ping: seconds is missing"),
        ({"type": "ping", "seconds": float("nan")}, "ping.seconds: nan is not number"),
        ({"type": "news", "totals": {}}, "news.totals: humans is missing"),
        (
            {"type": "news", "came": [{"name": "Ada", "role": "bot", "guest": False}]},
            "news.came[0].guest: sent, with its default false",
        ),
        ({"type": "notice", "code": "rain", "text": ""}, "notice.code: 'rain' is not"),
    ],
)
def test_undescribed_messages_are_found(message: dict[str, Any], fault: str) -> None:
    assert event_faults(message)[0].startswith(fault)


@pytest.mark.parametrize(
    ("message", "faults"),
    [
        (MOVE, 0),
        (MOVE | {"info": {"win_rate": 0.5, "proven": -1, "pv": [1] * 100}, "id": "x" * 64}, 0),
        (MOVE | {"info": None}, 0),
        (MOVE | {"info": {"win_rate": 1.5, "proven": 2, "pv": [1] * 101}}, 3),
        (MOVE | {"id": 2**53}, 1),
        (MOVE | {"match": "m" * 65}, 1),
    ],
)
def test_requests_are_checked_by_their_bounds(message: dict[str, Any], faults: int) -> None:
    assert len(request_faults(message)) == faults
