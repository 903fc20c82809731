"""playout.server.ladder.state: results, owed matches, and the state from stored matches."""

from __future__ import annotations

import pytest

from playout.games import TIE
from playout.ratings.bradley_terry import Outcomes, solve
from playout.server.ladder.state import (
    LadderPlayer,
    LadderState,
    OwedMatch,
    StoredLadder,
    StoredLuck,
    StoredResult,
    restore_ladder,
)

ANN, BOB = LadderPlayer("ann", "1"), LadderPlayer("bob", "1")
NEW = LadderPlayer("ann", "2")


def played(*results: tuple[LadderPlayer, LadderPlayer, int]) -> LadderState:
    ladder = LadderState("nim")
    for number, (first, second, winner) in enumerate(results):
        ladder.count((first, second), winner, float(number))
    return ladder


def rated(ladder: LadderState) -> LadderState:
    problem = ladder.problem()
    assert problem is not None
    ladder.rated(solve(problem))
    return ladder


def test_results_are_counted_by_first_mover() -> None:
    ladder = played((ANN, BOB, 1), (BOB, ANN, TIE), (BOB, ANN, 2))
    ann, bob = ladder.index_of(ANN), ladder.index_of(BOB)
    assert ladder.counts(ann, bob) == Outcomes(first=1)
    assert ladder.counts(bob, ann) == Outcomes(ties=1, second=1)
    entry = ladder.entries[ann]
    assert (entry.won, entry.tied, entry.lost, entry.last_at) == (2, 1, 0, 2.0)


def test_ratings_average_zero_and_order_the_players() -> None:
    ladder = rated(played(*[(ANN, BOB, 1)] * 6, *[(BOB, ANN, 1)] * 2))
    ann, bob = (ladder.entries[ladder.index_of(each)] for each in (ANN, BOB))
    assert ann.rating == pytest.approx(-bob.rating)
    assert ann.rating > 0
    assert ladder.superiority(0, 1) == pytest.approx(1 - (ladder.superiority(1, 0) or 0))


def test_nothing_is_rated_again_without_a_new_result() -> None:
    ladder = rated(played((ANN, BOB, 1)))
    assert ladder.problem() is None


def test_the_rating_without_luck_needs_a_match_whose_luck_is_known() -> None:
    ladder = played((ANN, BOB, 1), (NEW, BOB, 1))
    ladder.count_luck(StoredLuck((ANN, BOB), 1, 0.4))
    known = {each.player: bool(each.without_luck) for each in rated(ladder).entries}
    assert known == {ANN: True, BOB: True, NEW: False}


def test_a_new_version_starts_with_the_rating_of_the_one_before() -> None:
    ladder = rated(played(*[(ANN, BOB, 1), (BOB, ANN, 2)] * 5, (BOB, ANN, 1)))
    new = ladder.entries[ladder.enter(NEW)]
    assert new.rating == ladder.entries[ladder.index_of(ANN)].rating
    assert new.error is None
    assert ladder.is_retired(ladder.index_of(ANN))
    assert not ladder.is_retired(ladder.index_of(NEW))
    # The prior holds in the joint model, too: one lost match does not make it the worst.
    ladder.count((NEW, BOB), 2, 99.0)
    rated(ladder)
    assert new.rating > ladder.entries[ladder.index_of(BOB)].rating
    assert new.error is not None
    assert new.error > (ladder.entries[ladder.index_of(ANN)].error or 0)


def test_an_old_version_that_enters_again_is_the_latest() -> None:
    ladder = LadderState("nim")
    for player in (ANN, NEW, ANN):
        ladder.enter(player)
    assert ladder.is_retired(ladder.index_of(NEW))
    ladder.count((NEW, BOB), 1, 0.0)  # its last match does not bring it back
    assert ladder.is_retired(ladder.index_of(NEW))


def test_the_second_match_is_due_once_when_both_are_free() -> None:
    ladder = played((ANN, BOB, 1))
    owed = OwedMatch("m1", (BOB, ANN), (3,))
    ladder.owe(owed)
    assert ladder.due_owed({ladder.index_of(ANN)}) is None
    assert ladder.due_owed({0, 1}) == owed
    assert ladder.due_owed({0, 1}) is None


def test_the_player_with_fewer_first_moves_moves_first() -> None:
    ladder = played((ANN, BOB, 1))
    ann, bob = ladder.index_of(ANN), ladder.index_of(BOB)
    assert ladder.due_pair({ann, bob}, {ann, bob}, frozenset()) == (bob, ann)


def test_a_history_has_fewer_points_the_more_matches_there_are() -> None:
    ladder, points = LadderState("nim"), []
    for number in range(70):
        ladder.count((ANN, BOB), 1 + number % 2, float(number))
        rated(ladder)
        points += [each.matches for each in ladder.take_points() if each.player == ANN]
    assert points[:20] == list(range(1, 21))
    assert points[-1] - points[-2] == 4
    assert rated(played((ANN, BOB, 1))).take_points() != []
    again = restore_ladder(StoredLadder("nim", [StoredResult((ANN, BOB), 1, 9, 0.0, 1.0)]))
    assert rated(again).take_points() == [], "these were stored before"


def test_a_restored_ladder_is_the_one_that_was_played() -> None:
    results = [(ANN, BOB, 1), (BOB, ANN, 2), (ANN, BOB, 1), (NEW, BOB, TIE)]
    before = rated(played(*results))
    stored = [
        StoredResult((ANN, BOB), 1, 2, 0.0, 2.0),
        StoredResult((BOB, ANN), 2, 1, 1.0, 1.0),
        StoredResult((NEW, BOB), TIE, 1, 3.0, 3.0),
    ]
    after = rated(restore_ladder(StoredLadder("nim", stored, [OwedMatch("m", (BOB, NEW), ())])))
    assert after.matches == before.matches == 4
    assert {each.player: (each.matches, each.rating) for each in after.entries} == {
        each.player: (each.matches, pytest.approx(each.rating)) for each in before.entries
    }
    assert after.is_retired(after.index_of(ANN))
    assert after.entries[after.index_of(NEW)].previous == after.index_of(ANN)
    assert after.due_owed(range(3)) is not None
