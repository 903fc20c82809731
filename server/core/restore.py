"""Matches from before the server was started, made again from what is stored of them."""

from __future__ import annotations

import games
from server.core.accounts import Directory
from server.core.match import Match, Result, Status, Terms
from server.core.match_room import MatchRoom
from server.core.people import People
from server.core.sessions import Session
from server.model.messages import PROTOCOL, Hello, Seat
from server.model.records import StoredMatch
from server.model.time_control import parse_time_control


def table_of(kept: StoredMatch, people: People, accounts: Directory) -> MatchRoom:
    """A match as it stood, with the sessions of its players: those that are known, or new ones.

    Raises games.SpecError or games.IllegalAction if the rules are not those of then.
    """
    begun = kept.started
    match = Match(
        begun.match,
        games.load(begun.game),
        begun.players,
        Terms(
            time_control=parse_time_control(begun.clock),
            rated=begun.rated,
            illegal_moves=begun.illegal_moves,
            credit_cap_s=begun.credit_cap_s,
            void_unmoved=begun.tournament is None,
            max_plies=begun.max_plies,
        ),
    )
    clocks = kept.moves[-1].clocks if kept.moves else None
    match.restore([(played.seat, played.action) for played in kept.moves], clocks)
    if kept.ended:
        end = kept.ended
        match.result = Result(end.winner, end.returns, end.reason, end.text)
        match.status = Status.ENDED
    return MatchRoom(
        match,
        (_session(kept, 1, people, accounts), _session(kept, 2, people, accounts)),
        tournament=begun.tournament,
        fixture=begun.fixture,
        opening=begun.opening,
        begun_at=begun.at,
        bots=begun.bots,
    )


def _session(kept: StoredMatch, seat: Seat, people: People, accounts: Directory) -> Session:
    begun, place = kept.started, seat - 1
    known = people.sessions.get(begun.sessions[place])
    if known:
        return known
    name = begun.players[place]
    hello = Hello(protocol_min=PROTOCOL, protocol_max=PROTOCOL, name=name)
    return Session(begun.sessions[place], name, hello, accounts.get(begun.accounts[place]))
