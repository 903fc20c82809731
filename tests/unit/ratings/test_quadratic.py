"""Tuning by a quadratic model on simulated surfaces, where the optimum is known."""

from __future__ import annotations

import random
from statistics import mean

import pytest

from playout.ratings.quadratic import Quadratic
from playout.ratings.spsa import TunedParameter, Values

BEST = 0.7


def loss(values: Values) -> float:
    """Return the Elo lost by values: 60 where every parameter is 0.4 below its optimum."""
    return 60 * mean(((each - BEST) / 0.4) ** 2 for each in values.values())


def tuned(count: int, steps: int, seed: int) -> Quadratic:
    parameters = [TunedParameter(f"p{each}", 0, 1, 0.3) for each in range(count)]
    tuning, drawn = Quadratic(parameters, steps, seed), random.Random(seed)
    for step in range(steps):
        sides = tuning.sides(step)
        share = 1 / (1 + 10 ** ((loss(sides[0]) - loss(sides[1])) / 400))
        tuning.learn(step, sum(drawn.random() < share for _ in range(2)), sides)
    return tuning


@pytest.mark.parametrize(("count", "steps", "most"), [(1, 400, 8), (2, 800, 20)])
def test_it_comes_near_the_optimum(count: int, steps: int, most: int) -> None:
    assert mean(loss(tuned(count, steps, seed).result) for seed in range(3)) < most


def test_the_same_pairs_lead_to_the_same_values() -> None:
    assert tuned(2, 64, 5).result == tuned(2, 64, 5).result


def test_values_and_sides_stay_in_their_ranges() -> None:
    """The larger value always wins, so that the maximum is at the edge."""
    tuning = Quadratic([TunedParameter("depth", 1, 8, 4, whole=True)], 160)
    for step in range(160):
        sides = tuning.sides(step)
        assert all(1 <= each["depth"] <= 8 for each in sides)
        tuning.learn(step, 2 * (sides[0]["depth"] > sides[1]["depth"]), sides)
    assert tuning.result["depth"] == pytest.approx(8, abs=0.5)
    assert tuning.done == 160
