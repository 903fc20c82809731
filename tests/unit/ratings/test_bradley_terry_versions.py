"""playout.ratings.bradley_terry: how many more matches show that a new version is better."""

from __future__ import annotations

from statistics import NormalDist

import pytest

from playout.ratings.bradley_terry import (
    MOST_NEEDED,
    SURE,
    Outcomes,
    RatingProblem,
    difference_error,
    error_of_its_own,
    matches_needed,
    solve,
)

SIGMAS = NormalDist().inv_cdf(0.975)


def test_the_error_of_a_difference_follows_from_the_likelihood_of_superiority() -> None:
    likelihood = NormalDist(50, 20).cdf(100) - NormalDist(50, 20).cdf(0)
    assert likelihood > SURE
    superiority = NormalDist().cdf(50 / 20)
    assert difference_error(50.0, superiority, (9.0, 9.0)) == pytest.approx(SIGMAS * 20)
    assert difference_error(-50.0, 1 - superiority, (9.0, 9.0)) == pytest.approx(SIGMAS * 20)


def test_the_difference_of_equal_players_follows_from_both_errors() -> None:
    assert difference_error(0.0, 0.5, (30.0, 40.0)) == pytest.approx(50.0)


def test_nothing_is_needed_when_it_is_sure() -> None:
    assert matches_needed(100.0, 60.0, 50.0, 0.0) == 0
    assert matches_needed(-100.0, 60.0, 50.0, 0.0) == 0


def test_a_small_difference_may_need_too_many_matches() -> None:
    assert matches_needed(1.0, 80.0, 79.9, 0.0) is None
    assert matches_needed(60.0, 80.0, 10.0, 0.0) is None, "the other version is not known better"
    assert (matches_needed(8.0, 50.0, 50.0, 0.0) or 0) < MOST_NEEDED


@pytest.mark.parametrize("played", [10, 40])
def test_as_many_matches_as_forecast_make_it_sure(played: int) -> None:
    """Version 1 takes 58 % against an opponent that is as strong as version 0 and well known."""

    def rated(matches: int) -> tuple[float, float, float, float]:
        won = round(0.58 * matches)
        counts = {
            (0, 2): Outcomes(5000, 0, 5000),
            (2, 0): Outcomes(5000, 0, 5000),
            (1, 2): Outcomes(won, 0, matches - won),
            (2, 1): Outcomes(matches - won, 0, won),
        }
        found = solve(RatingProblem(3, counts, ()))
        difference = found.elo[1] - found.elo[0]
        own = error_of_its_own(found.error[1], versions=3)
        error = difference_error(difference, found.los[1][0], (own, found.error[0]))
        return difference, error, own, found.los[1][0]

    difference, error, own, before = rated(played // 2)
    assert before < SURE
    needed = matches_needed(difference, error, own, 0.0)
    assert needed
    # The number depends on the rounded score so far: it is about right.
    assert 40 < played + needed < 250
    assert rated(played + needed)[3] > 0.93


@pytest.mark.parametrize("tie_share", [0.25, 0.5])
def test_matches_with_ties_measure_more(tie_share: float) -> None:
    without = matches_needed(30.0, 60.0, 60.0, 0.0)
    assert without
    assert without > 50
    needed = matches_needed(30.0, 60.0, 60.0, tie_share)
    assert needed == pytest.approx(without * (1 - tie_share), abs=1)
