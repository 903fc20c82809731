"""A match between two who look for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import games
from server.core.match import Match, Terms
from server.core.match_room import MatchRoom
from server.core.seeks import OpenSeek
from server.model.time_control import parse_time_control

if TYPE_CHECKING:
    from server.core.hub import Hub


def pair(hub: Hub, older: OpenSeek, newer: OpenSeek, now: float) -> None:
    """Begin a match between two offers that fit."""
    first, second = older, newer
    nobody_minds = older.seat is None and newer.seat is None
    if older.seat == 2 or newer.seat == 1 or (nobody_minds and hub.random.random() < 0.5):
        first, second = newer, older
    text = older.clock or newer.clock or hub.policy.default_clock
    match = Match(
        hub.new_id(),
        games.load(older.game),
        (first.name, second.name),
        Terms(
            time_control=parse_time_control(text),
            rated=older.rated,
            illegal_moves=hub.policy.illegal_moves,
            credit_cap_s=hub.policy.credit_cap_s,
            void_unmoved=True,
        ),
    )
    hub.lobby.take(older)
    hub.lobby.take(newer)
    sessions = hub.people.sessions
    seats = sessions[first.session], sessions[second.session]
    bots = hub.summoning.player_of(seats[0]), hub.summoning.player_of(seats[1])
    hub.begin(MatchRoom(match, seats, bots=bots), now)
