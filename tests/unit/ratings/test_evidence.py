"""Evidence of the strength of two players, from their results."""

from __future__ import annotations

import json
import math
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playout.ratings.evidence import Evidence, Pentanomial, elo, evidence, pentanomial, scores_of
from playout.ratings.pairs import Pair, PairScore

COUNT = st.integers(0, 3) | st.integers(0, 1_000_000)
PENTANOMIALS = st.builds(Pentanomial, COUNT, COUNT, COUNT, COUNT, COUNT, COUNT)


def played(*scores: PairScore, entrants: tuple[int, int] = (0, 1)) -> list[tuple[Pair, PairScore]]:
    return [
        (Pair((1, 1, number), "connect_four", entrants, number), score)
        for number, score in enumerate(scores, 1)
    ]


# From fastchess, app/tests/elo_test.cpp; it rounds to two digits.
@pytest.mark.parametrize(
    ("counts", "points", "half_width", "normalized", "its_half_width", "los"),
    [
        (Pentanomial(332, 433, 457, 41, 333, 334), -8.64, 10.33, -9.17, 10.96, 0.0505),
        (Pentanomial(34, 54, 31, 32, 64, 75), 55.58, 27.65, 57.94, 28.28, 1.0),
        (Pentanomial(7895, 8757, 5485, 200, 568, 9999), -21.04, 2.95, -19.01, 2.65, 0.0),
    ],
)
def test_the_numbers_are_those_of_fastchess(
    counts: Pentanomial,
    points: float,
    half_width: float,
    normalized: float,
    its_half_width: float,
    los: float,
) -> None:
    found = evidence(counts)
    assert found.elo == pytest.approx(points, abs=0.006)
    assert found.elo_error == pytest.approx(half_width, abs=0.006)
    assert found.nelo == pytest.approx(normalized, abs=0.006)
    assert found.nelo_error == pytest.approx(its_half_width, abs=0.006)
    assert found.los == pytest.approx(los, abs=0.00006)


def test_games_score_ties_and_pairs_are_counted() -> None:
    found = evidence(Pentanomial(ll=1, ld=2, wl=3, dd=4, wd=5, ww=6))
    assert found.games == 42
    assert found.score == pytest.approx((2 * 0.5 + 7 * 1 + 5 * 1.5 + 6 * 2) / 42)
    assert found.draw_ratio == pytest.approx((2 + 8 + 5) / 42)


def test_without_games_nothing_is_known() -> None:
    assert evidence(Pentanomial()) == Evidence(games=0)


def test_a_player_that_won_everything_has_a_lower_bound_that_rises_with_the_games() -> None:
    few, many = evidence(Pentanomial(ww=3)), evidence(Pentanomial(ww=300))
    for each in (few, many):
        assert each.score == 1
        assert each.elo is each.elo_error is each.elo_high is None
        assert each.nelo is each.nelo_error is None
    # A player that wins 54.07 % of the matches wins six of six 1 time in 40.
    assert few.elo_low == pytest.approx(elo(0.025 ** (1 / 6)))
    assert few.elo_low == pytest.approx(28.4, abs=0.1)
    assert many.elo_low == pytest.approx(883.7, abs=0.3)
    assert few.los == pytest.approx(1 - 1 / 2**7)


@pytest.mark.parametrize("pairs", range(1, 7))
def test_winning_everything_is_certain_where_the_sign_test_says_so(pairs: int) -> None:
    low = evidence(Pentanomial(ww=pairs)).elo_low
    assert low is not None
    assert (low > 0) == (2 / 2 ** (2 * pairs) < 0.05)


@pytest.mark.parametrize(
    "counts",
    [
        Pentanomial(ww=5, wd=1),
        Pentanomial(ww=5, wl=1),
        Pentanomial(ww=20, ll=1),
        Pentanomial(ww=1, ll=1),
    ],
)
def test_few_or_one_sided_results_have_a_whole_interval(counts: Pentanomial) -> None:
    found = evidence(counts)
    assert found.elo is not None
    assert found.elo_low is not None
    assert found.elo_high is not None
    assert found.elo_low < found.elo < found.elo_high < 3000
    assert found.los is not None
    assert 0.5 <= found.los < 1
    all_won = evidence(Pentanomial(ww=counts.count)).elo_low
    assert all_won is not None
    assert found.elo_low < all_won


def test_losing_everything_mirrors_winning_everything() -> None:
    lost, won = evidence(Pentanomial(ll=7)), evidence(Pentanomial(ww=7))
    assert lost.elo is lost.elo_low is lost.elo_error is None
    assert lost.elo_high is not None
    assert won.elo_low is not None
    assert lost.elo_high == pytest.approx(-won.elo_low)
    assert lost.los == pytest.approx(1 / 2**15)


def test_ties_only_mean_no_difference_within_bounds_that_narrow() -> None:
    few, many = evidence(Pentanomial(dd=5)), evidence(Pentanomial(dd=500))
    for each in (few, many):
        assert (each.elo, each.nelo, each.los, each.draw_ratio) == (0, 0, 0.5, 1)
    assert few.elo_error is not None
    assert many.elo_error is not None
    assert few.elo_error > 100 > 3 > many.elo_error > 0


@given(PENTANOMIALS)
def test_evidence_of_arbitrary_results_is_finite(counts: Pentanomial) -> None:
    found = evidence(counts)
    json.dumps(asdict(found), allow_nan=False)
    if not found.games:
        return
    assert found.score is not None
    assert found.los is not None
    assert 0 <= found.score <= 1
    assert 0 <= found.los <= 1
    assert (found.elo is None) == (found.score in (0, 1))
    for bound, side in ((found.elo_low, -1), (found.elo_high, 1)):
        if found.elo is not None and bound is not None:
            assert side * (bound - found.elo) > -1e-9
    if found.elo_error is None:
        assert found.elo_low is None or found.elo_high is None


@given(PENTANOMIALS)
def test_the_opponent_sees_the_same_with_signs_changed(counts: Pentanomial) -> None:
    turned = Pentanomial(counts.ww, counts.wd, counts.wl, counts.dd, counts.ld, counts.ll)
    mine, theirs = evidence(counts), evidence(turned)
    for one, other in ((mine.elo, theirs.elo), (mine.nelo, theirs.nelo)):
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert math.isclose(one, -other, rel_tol=1e-6, abs_tol=1e-6)
    if mine.los is not None and theirs.los is not None:
        assert mine.los == pytest.approx(1 - theirs.los, abs=1e-9)


def test_pairs_are_counted_from_the_side_of_either_entrant() -> None:
    results = played(
        PairScore(0, 0), PairScore(0, 0.5), PairScore(0.5, 0), PairScore(1, 0), PairScore(0, 1),
        PairScore(0, 1), PairScore(0.5, 0.5), PairScore(1, 0.5), PairScore(0.5, 1),
        PairScore(1, 0.5), PairScore(1, 1),
    )  # fmt: skip
    assert pentanomial(0, results) == Pentanomial(ll=1, ld=2, wl=3, dd=1, wd=3, ww=1)
    assert pentanomial(1, results) == Pentanomial(ll=1, ld=3, wl=3, dd=1, wd=2, ww=1)


def test_pairs_of_others_do_not_count() -> None:
    results = played(PairScore(1, 1)) + played(PairScore(1, 0.5), entrants=(2, 1))
    assert pentanomial(2, results) == Pentanomial(wd=1)
    assert scores_of(1, results) == [PairScore(0, 0), PairScore(0, 0.5)]
    assert pentanomial(3, results) == Pentanomial()
