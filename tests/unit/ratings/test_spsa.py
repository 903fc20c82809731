"""Tuning by SPSA on simulated surfaces, where the optimum is known."""

from __future__ import annotations

import random
from statistics import mean

import pytest

from playout.ratings.spsa import Spsa, TunedParameter, Values

#: The optimum of each parameter.
BEST = 0.7


def loss(values: Values) -> float:
    """Return the Elo lost by values: 60 where every parameter is 0.4 below its optimum."""
    return 60 * mean(((each - BEST) / 0.4) ** 2 for each in values.values())


def parameters(count: int, start: float = 0.3) -> list[TunedParameter]:
    return [TunedParameter(f"p{each}", 0, 1, start) for each in range(count)]


def played(tuning: Spsa, drawn: random.Random, steps: int) -> None:
    for step in range(tuning.done, tuning.done + steps):
        plus, minus = tuning.sides(step)
        share = 1 / (1 + 10 ** ((loss(plus) - loss(minus)) / 400))
        tuning.learn(step, sum(drawn.random() < share for _ in range(2)))


def regret(count: int, steps: int, runs: int, start: float = 0.3) -> float:
    found = []
    for seed in range(runs):
        tuning = Spsa(parameters(count, start), steps, seed)
        played(tuning, random.Random(seed), steps)
        found.append(loss(tuning.result))
    return mean(found)


@pytest.mark.parametrize(
    ("count", "steps", "most"), [(2, 500, 12), (2, 2000, 4), (6, 500, 35), (6, 2000, 22)]
)
def test_it_comes_near_the_optimum(count: int, steps: int, most: int) -> None:
    assert regret(count, steps, 4000 // steps) < most


def test_it_loses_little_where_nothing_is_to_gain() -> None:
    assert regret(6, 1000, 4, start=BEST) < 15


def test_the_same_points_lead_to_the_same_values() -> None:
    whole, again = (Spsa(parameters(3), 60, seed=5) for _ in range(2))
    drawn = random.Random(1)
    points = [drawn.choice((0, 0.5, 1, 1.5, 2)) for _ in range(60)]
    for step, each in enumerate(points):
        whole.learn(step, each)
    for step, each in enumerate(points):
        assert again.sides(step)  # asking changes nothing
        again.learn(step, each)
    assert again.result == whole.result
    assert again.done == 60


def test_values_stay_in_their_ranges_and_are_spelled_as_options() -> None:
    parameter = TunedParameter("depth", 1, 8, 8, whole=True)
    tuning = Spsa([parameter], 10)
    for step in range(10):
        plus, minus = tuning.sides(step)
        assert all(1 <= each["depth"] <= 8 for each in (plus, minus))
        tuning.learn(step, 2 * (plus["depth"] > minus["depth"]))
    assert parameter.shown(tuning.result["depth"]) == "8"
    assert parameter.shown(3.6) == "4"
    assert TunedParameter("c", 0, 3, 1).shown(0.123456) == "0.1235"
