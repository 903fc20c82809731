"""Rejected records: their match, tournament or session ends, everything else continues."""

from __future__ import annotations

from typing import TypeVar

from playout.protocol.messages import (
    Ended,
    Error,
    Fixture,
    Join,
    Move,
    Notice,
    Reason,
    Seek,
    Started,
    Tournament,
    Update,
    Watch,
    Welcome,
)
from playout.server.model.records import (
    NOT_STORED,
    Account,
    EntrantWithdrawn,
    MatchEnded,
    MatchStarted,
    MovePlayed,
    Record,
    TournamentCreated,
    TournamentEnded,
)
from support.hub_harness import (
    HubHarness,
    MemoryClient,
    hello_of,
    match_between,
    only,
    play,
    sit_down,
)
from support.tournaments import Bots, member, new_tournament, spec_of

R = TypeVar("R", bound=Record)


def reject_last(harness: HubHarness, kind: type[R]) -> None:
    """Report the last record of a kind as one that cannot be stored; the others are stored."""
    record = next(each for each in reversed(harness.stored) if isinstance(each, kind))
    harness.do(harness.hub.record_rejected(record, harness.now))
    harness.commit()


def last_ended(client: MemoryClient) -> Ended:
    return client.heard(Ended)[-1]


def test_a_match_ends_without_result_and_the_move_is_never_announced() -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness)
    eve = harness.client("Eve", role="spectator")
    eve.say(Watch(match=match))
    play(match, (ann, bob), (0,))
    harness.slow = True
    bob.say(Move(match=match, ply=1, action=1))
    reject_last(harness, MovePlayed)
    for client in (ann, bob, eve):
        assert [update.ply for update in client.heard(Update)] == [0]
        (ended,) = client.heard(Ended)
        assert (ended.winner, ended.reason, ended.text) == (0, Reason.ABORTED, NOT_STORED)
    assert harness.matches == {}


def test_other_matches_continue() -> None:
    harness = HubHarness()
    ann, bob, match = sit_down(harness)
    harness.slow = True
    ann.say(Move(match=match, ply=0, action=0))
    reject_last(harness, MovePlayed)
    harness.slow = False
    cid, dan = harness.client("Cid"), harness.client("Dan")
    other = match_between(cid, dan)
    play(other, (cid, dan), (0, 3, 1, 4, 2))
    assert last_ended(cid).reason is Reason.RULES
    assert bob.heard(Ended)[0].match == match


def won_with_rejection_of(kind: type[MovePlayed | MatchEnded]) -> tuple[MemoryClient, MemoryClient]:
    """Return two clients; the record of this kind of the first one's winning move was rejected."""
    harness = HubHarness()
    ann, bob, match = sit_down(harness)
    play(match, (ann, bob), (0, 3, 1, 4))
    harness.slow = True
    ann.say(Move(match=match, ply=4, action=2))
    reject_last(harness, kind)
    return ann, bob


def test_the_result_of_a_move_that_was_not_stored_is_not_announced() -> None:
    ann, bob = won_with_rejection_of(MovePlayed)
    for client in (ann, bob):
        assert [update.ply for update in client.heard(Update)] == [0, 1, 2, 3]
        (ended,) = client.heard(Ended)
        assert (ended.winner, ended.reason, ended.returns) == (0, Reason.ABORTED, (0.0, 0.0))


def test_an_end_that_cannot_be_stored_is_an_end_without_result() -> None:
    ann, bob = won_with_rejection_of(MatchEnded)
    assert len(ann.heard(Update)) == 5
    assert last_ended(bob).reason is Reason.ABORTED


def test_a_match_whose_start_cannot_be_stored_ends_at_once() -> None:
    harness = HubHarness()
    harness.slow = True
    ann, bob = harness.client("Ann"), harness.client("Bob")
    harness.commit()
    ann.say(Seek(game="nim", seat=1))
    bob.say(Seek(game="nim", seat=2))
    reject_last(harness, MatchStarted)
    assert [type(each) for each in bob.inbox[-2:]] == [Started, Ended]
    assert last_ended(ann).reason is Reason.ABORTED


def test_a_tournament_that_cannot_be_stored_is_over() -> None:
    harness = HubHarness()
    ann, bob = member(harness, "Ann"), member(harness, "Bob")
    zoe, _ = new_tournament(harness, spec_of(2))
    harness.slow = True
    for client in (ann, bob):
        client.say(Join())
    reject_last(harness, MatchStarted)  # otherwise the same match would begin again forever
    assert zoe.heard(Tournament)[-1].over
    assert zoe.heard(Notice)[-1].code == "tournament_failed"
    assert any(isinstance(each, TournamentEnded) for each in harness.stored)
    assert harness.matches == {}


def test_a_withdrawal_that_cannot_be_stored_ends_the_tournament() -> None:
    harness = HubHarness()
    zoe, tournament = new_tournament(harness, spec_of(3))
    record = EntrantWithdrawn(tournament=tournament.tournament, number=1, entrant=0, at=0.0)
    for _ in range(2):  # a storage process that was started again reports it again
        harness.do(harness.hub.record_rejected(record, harness.now))
    assert [each.over for each in zoe.heard(Tournament)] == [False, True]


def test_a_counted_result_that_is_not_stored_ends_the_tournament() -> None:
    harness = HubHarness()
    ann, bob = member(harness, "Ann"), member(harness, "Bob")
    zoe, _ = new_tournament(harness, spec_of(2, rounds=3))
    for client in (ann, bob):
        client.say(Join())
    bots = Bots(harness, ann, bob)
    while not ann.heard(Ended):
        bots.play(1)
    reject_last(harness, MatchEnded)
    assert zoe.heard(Tournament)[-1].over


def test_a_pair_that_fails_again_and_again_ends_the_tournament() -> None:
    harness = HubHarness()
    ann, bob = member(harness, "Ann"), member(harness, "Bob")
    zoe, _ = new_tournament(harness, spec_of(2))
    for client in (ann, bob):
        client.say(Join())
    bots = Bots(harness, ann, bob)
    for attempt in (1, 2, 3):
        assert {fixture.attempt for fixture in zoe.heard(Fixture)} == set(range(1, attempt + 1))
        bots.play(1)
        reject_last(harness, MovePlayed)
    assert [each.over for each in zoe.heard(Tournament)] == [False, True]
    assert harness.matches == {}


def test_a_tournament_of_which_nothing_is_known_is_ignored() -> None:
    harness = HubHarness()
    record = TournamentCreated(tournament="t", name="x", spec="{}", at=0.0)
    assert harness.hub.record_rejected(record, harness.now) == []


def test_an_account_that_cannot_be_stored_does_not_exist() -> None:
    harness = HubHarness()
    harness.slow = True
    ann = harness.connect()
    ann.say(hello_of("Ann", guest=False))
    reject_last(harness, Account)
    assert not ann.open
    assert NOT_STORED in only(ann.inbox, Error).text
    harness.slow = False
    again = harness.connect()
    assert again.ask(hello_of("Ann", guest=False), Welcome).token
