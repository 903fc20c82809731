"""The state of a tournament, through matches that begin and end in any order."""

from __future__ import annotations

import random

import pytest

from playout.protocol.messages import Fixture, Reason
from playout.server.model.records import (
    MatchEnded,
    MatchStarted,
    flat,
)
from playout.server.tournament.ledger import parse_slot
from playout.server.tournament.state import DueMatch, TournamentState
from support.scale import repetitions
from support.tournaments import spec_of


def state_of(starts: list[MatchStarted], ends: list[MatchEnded]) -> TournamentState:
    """A tournament with these matches, as after a restart of the server."""
    tournament = TournamentState("t", spec_of(3, rounds=2))
    for _ in tournament.prepare():
        pass
    for started in starts:
        put_start(tournament, started)
    for ended in ends:
        tournament.match_ended(ended, ())
    return tournament


def put_start(tournament: TournamentState, started: MatchStarted) -> None:
    tournament.put(parse_slot(started.fixture or "").fixture(started))


def next_due(tournament: TournamentState) -> DueMatch | None:
    while (due := next(tournament.due({0, 1, 2}), None)) is None and tournament.needs_opening:
        tournament.prepare_opening()
    return due


def test_the_next_matches_are_those_that_become_due() -> None:
    tournament = state_of([], [])
    names = [each.name for each in tournament.spec.entrants]
    for number in range(1, 13):
        expected = tournament.upcoming(20)
        assert len(expected) == 13 - number
        due = next_due(tournament)
        assert due
        players = tuple(names[each] for each in due.entrants)
        assert expected[0] == (due.game, players, due.slot.key[0])
        put_start(tournament, started(number, due))
        tournament.match_ended(ended(str(number), 1), ())
    assert tournament.upcoming(20) == []


def started(number: int, due: DueMatch) -> MatchStarted:
    return MatchStarted(
        **flat(
            match=str(number),
            game=due.game,
            players=("a", "b"),
            accounts=(None, None),
            sessions=("1", "2"),
            clock="none",
            rated=True,
            illegal_moves=0,
            credit_cap_s=0.0,
            tournament="t",
            fixture=str(due.slot),
            at=0.0,
        )
    )


def ended(match: str, winner: int) -> MatchEnded:
    return MatchEnded(
        **flat(match=match, winner=winner, returns=(0.0, 0.0), reason=Reason.RULES, text="", at=0.0)
    )


def attempt_of(fixture: Fixture) -> tuple[int, ...]:
    return fixture.round, fixture.board, fixture.number, fixture.attempt


def pointless(tournament: TournamentState) -> set[str]:
    """The running matches of attempts of which another match has no result."""
    fixtures = tournament.fixtures
    failed = {attempt_of(each) for each in fixtures.values() if each.winner == 0}
    return {match for match in tournament.running if attempt_of(fixtures[match]) in failed}


@pytest.mark.parametrize("seed", range(repetitions(200, short=10)))
def test_matches_are_void_whose_pair_is_played_again(seed: int) -> None:
    chance = random.Random(seed)
    starts, ends = list[MatchStarted](), list[MatchEnded]()
    tournament, found = state_of(starts, ends), False
    for _ in range(80):
        due = next_due(tournament)
        if due and chance.random() < 0.6:
            starts.append(started(len(starts), due))
            put_start(tournament, starts[-1])
        elif tournament.running:
            match = chance.choice(sorted(tournament.running))
            ends.append(ended(match, chance.choice((0, 0, 1, 2, -1))))
            tournament.match_ended(ends[-1], ())
        void = set(tournament.void_matches)
        assert void == pointless(tournament)
        assert void == set(state_of(starts, ends).void_matches)
        found = found or bool(void)
    assert found
