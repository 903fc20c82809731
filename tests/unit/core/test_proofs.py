"""Proofs on a hub: which positions an analyst gets, and what follows from its reports."""

from __future__ import annotations

from typing import Any

from playout.protocol.messages import Notice, Reason
from playout.protocol.tournament_spec import Adjudication, Openings
from support.hub_harness import HubHarness, MemoryClient
from support.tournaments import (
    NAMES,
    Bots,
    account,
    last,
    member,
    new_tournament,
    spec_of,
    stored_tournament,
)

OPENING = (0, 3)


def playing(
    harness: HubHarness, *, proofs: bool = True, matches: int = 1, **fields: Any
) -> tuple[MemoryClient, Bots]:
    """A tournament whose matches have begun, its watcher and its entrants."""
    opened = Openings(lines={"tic_tac_toe": (OPENING,)})
    spec = spec_of(adjudication=Adjudication(proofs=proofs), openings=opened, **fields)
    zoe, _ = new_tournament(harness, spec)
    bots = Bots(harness, *(member(harness, name) for name in NAMES[:2]))
    bots.join(matches=matches)
    return zoe, bots


def test_a_match_ends_with_its_proven_result() -> None:
    harness = HubHarness()
    zoe, _ = playing(harness)
    for number in range(2):
        (order,) = harness.proofs
        assert (order.game, order.moves) == ("tic_tac_toe", OPENING)
        harness.proven(2)
        assert len(harness.proofs) == 1 - number, "the other match of the pair has begun"
    ends = [(each.winner, each.reason, each.plies) for each in last(zoe).values()]
    assert ends == [(2, Reason.ADJUDICATION, 2)] * 2


def test_each_new_position_is_searched() -> None:
    harness = HubHarness()
    _, bots = playing(harness)
    match = harness.only_match()
    for ply in range(2, 5):
        (order,) = harness.proofs
        assert order.moves == match.position.moves
        assert match.ply == ply
        harness.proven(None)
        assert not harness.proofs
        bots.play(1)


def test_a_proof_that_comes_after_the_next_move_is_dropped() -> None:
    harness = HubHarness()
    _, bots = playing(harness)
    match = harness.only_match()
    bots.play(1)
    harness.proven(1)
    assert not match.result
    assert harness.proofs[0].moves == match.position.moves, "the new position is searched next"


def test_only_the_latest_position_of_each_waiting_match_is_searched() -> None:
    harness = HubHarness()
    _, bots = playing(harness, matches=2)
    first, second = harness.matches.values()
    bots.play(4)
    assert [each.moves for each in harness.proofs] == [OPENING], "one is searched at a time"
    harness.proven(None)
    searched = []
    while harness.proofs:
        searched.append(harness.proofs[0].moves)
        harness.proven(None)
    assert sorted(searched) == sorted((first.position.moves, second.position.moves))
    assert first.ply + second.ply == 8


def test_a_match_that_has_ended_is_not_searched() -> None:
    harness = HubHarness()
    _, bots = playing(harness)
    bots.play()
    assert not harness.matches
    harness.proven(1)
    assert not harness.proofs
    ended = [each.ended for each in stored_tournament(harness.stored).matches]
    assert [each.reason for each in ended if each] == [Reason.RULES] * 2


def test_matches_without_proofs_are_not_searched() -> None:
    harness = HubHarness()
    playing(harness, proofs=False)
    assert harness.matches
    assert not harness.proofs


def test_after_an_error_the_next_search_waits_and_watchers_are_told_once() -> None:
    harness = HubHarness()
    zoe, bots = playing(harness)
    match = harness.only_match()
    for wait_s in (0.5, 1.0, 2.0):
        harness.proven(None, "the process has exited")
        if wait_s > 0.5:
            bots.play(1)
        assert not harness.proofs
        harness.wait(wait_s - 0.1)
        assert not harness.proofs
        harness.wait(0.2)
        assert [each.moves for each in harness.proofs] == [match.position.moves]
    (notice,) = zoe.heard(Notice)
    assert notice.code == "proof_failed"
    assert notice.text.endswith("cannot be proven: the process has exited")
    harness.proven(None)
    bots.play(1)
    assert len(harness.proofs) == 1, "it works again"


def test_matches_of_before_a_restart_are_searched() -> None:
    harness = HubHarness()
    _, bots = playing(harness)
    bots.play(1)
    stored = stored_tournament(harness.stored)
    again = HubHarness()
    for name in NAMES[:2]:
        account(again, name)
    again.hub.restore_tournaments([stored])
    again.do(again.hub.restore_matches(stored.matches, again.now))
    (order,) = again.proofs
    assert order.moves == tuple(each.action for each in stored.matches[0].moves)
    assert len(order.moves) == 3
    again.proven(-1)
    assert not again.matches
