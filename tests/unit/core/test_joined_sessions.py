"""The sessions that have joined tournaments, and the sets of cores without a match."""

from __future__ import annotations

import random

import pytest

from playout.protocol.messages import Join
from playout.server.core.joined_sessions import FreeSessions, JoinedSessions
from playout.server.core.sessions import Session
from playout.server.tournament.state import TournamentState
from support.hub_harness import hello_of
from support.scale import repetitions
from support.tournaments import NAMES, spec_of

#: For each entrant the keys of its sessions, repeated for each match that they could play.
Free = dict[int, list[str]]


def free_sessions(joined: dict[str, tuple[Session, Join]]) -> dict[int | None, Free]:
    """The expected groups, computed from all sessions that have joined."""
    busy = {request.core_set for session, request in joined.values() if session.matches}
    sets: set[int | None] = {request.core_set for _, request in joined.values()} - busy | {None}
    found: dict[int | None, Free] = {}
    for core_set in sets:
        found[core_set] = {}
        for session, request in joined.values():
            room = request.matches - len(session.matches)
            if request.core_set in (core_set, None) and room > 0:
                index = NAMES.index(session.name)
                found[core_set].setdefault(index, []).extend([session.key] * room)
    return found


def keys_of(free: FreeSessions) -> Free:
    return {index: sorted(each.key for each in sessions) for index, sessions in free.items()}


@pytest.mark.parametrize("seed", range(repetitions(200, short=5)))
def test_sets_of_cores_without_a_match_are_found_after_any_sequence(seed: int) -> None:
    chance = random.Random(seed)
    tournament = TournamentState("t", spec_of(2))
    names = [chance.choice(NAMES[:2]) for _ in range(12)]
    sessions = [Session(f"{key:02}", name, hello_of(name)) for key, name in enumerate(names)]
    joined, expected = JoinedSessions(), dict[str, tuple[Session, Join]]()
    for number in range(100):
        session = chance.choice(sessions)
        match chance.randrange(4):
            case 0:
                core_set = chance.choice((None, 1, 2, 3))
                expected[session.key] = session, Join(matches=2, core_set=core_set)
                joined.put(*expected[session.key])
            case 1:
                expected.pop(session.key, None)
                joined.remove(session)
            case 2:
                session.matches.add(str(number))
            case 3 if session.matches:
                session.matches.pop()
                joined.match_over([session])
        groups = {core_set: keys_of(free) for core_set, free in joined.groups(tournament)}
        wanted = free_sessions(expected)
        assert groups == {
            core_set: {index: sorted(keys) for index, keys in free.items()}
            for core_set, free in wanted.items()
        }
