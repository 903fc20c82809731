"""Elo ratings that change with each result."""

from __future__ import annotations

import random

import pytest

from playout.ratings.bradley_terry import AVERAGE
from playout.ratings.leaderboard import EloRatings


def test_a_result_moves_both_ratings_towards_it() -> None:
    ratings = EloRatings()
    assert (ratings.rating("Ann"), ratings.results("Ann")) == (AVERAGE, 0)
    ratings.add("Ann", "p1", 1)
    assert ratings.rating("Ann") - AVERAGE == AVERAGE - ratings.rating("p1") == 32
    assert ratings.results("Ann") == ratings.results("p1") == 1
    before = ratings.rating("Ann")
    ratings.add("Ann", "p2", 0.5)
    assert ratings.rating("Ann") < before


def test_the_difference_approaches_the_true_one() -> None:
    drawn, ratings, differences = random.Random(1), EloRatings(), []
    for _ in range(4000):
        ratings.add("Ann", "p1", float(drawn.random() < 1 / (1 + 10 ** (-200 / 400))))
        differences.append(ratings.rating("Ann") - ratings.rating("p1"))
    late = differences[1000:]
    assert sum(late) / len(late) == pytest.approx(200, abs=25)
