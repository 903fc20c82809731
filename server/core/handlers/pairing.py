"""Begins a match between two open seeks."""

from __future__ import annotations

import games
from server.core.context import Context
from server.core.match import Match, Terms
from server.core.match_room import MatchRoom
from server.core.rooms import Rooms
from server.core.seeks import Lobby, OpenSeek
from server.model.time_control import parse_time_control


class Pairing:
    """Makes matches of open seeks that fit each other."""

    def __init__(self, context: Context, lobby: Lobby, rooms: Rooms) -> None:
        self._context = context
        self._lobby = lobby
        self._rooms = rooms

    def pair(self, older: OpenSeek, newer: OpenSeek, now: float) -> None:
        """Begin a match between two seeks that fit; seats that neither asked for are drawn."""
        context, policy = self._context, self._context.policy
        first, second = older, newer
        seats = older.request.seat, newer.request.seat
        any_seat = seats == (None, None)
        if seats[0] == 2 or seats[1] == 1 or (any_seat and context.random.random() < 0.5):
            first, second = newer, older
        text = older.request.clock or newer.request.clock or policy.default_clock
        sessions = first.session, second.session
        match = Match(
            context.new_id(),
            games.load(older.request.game),
            (sessions[0].name, sessions[1].name),
            Terms(
                time_control=parse_time_control(text),
                rated=older.request.rated,
                illegal_moves=policy.illegal_moves,
                credit_cap_s=policy.credit_cap_s,
                void_unmoved=True,
            ),
        )
        self._lobby.take(older)
        self._lobby.take(newer)
        bots = sessions[0].bot_player, sessions[1].bot_player
        self._rooms.begin(MatchRoom(match, sessions, bots=bots), now)
