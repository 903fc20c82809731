"""Tuning of one or two parameters by a quadratic model of their effect.

Each step plays one pair of matches between two sets of values. The strength of a set is modelled as
a quadratic function of its values, and the share of points of a pair as the logistic function of
the difference of the two strengths, as in the model of Bradley and Terry. The fit is that of the
greatest likelihood with a small ridge; the values are those of the model's maximum in the ranges.

Pure: a tuning is a function of its parameters, its seed, and its finished pairs in their order.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from playout.ratings.spsa import TunedParameter, Values

#: The maximum number of parameters. The mean losses in Elo after 500 pairs, by the model and by
#: SPSA, were 3 and 2 with one parameter, 9 and 5 with two and 16 and 9 with three on the quadratic
#: surface of the tests; and 11 and 5, 13 and 7, 16 and 11 where the loss beyond the optimum is 16
#: times as large.
MOST_PARAMETERS = 2
#: The sides of a pair are drawn within this share of the ranges around the best values: at first,
#: and at the end. Of 0.3, 0.5 and 1 at the end, 0.3 was best on both surfaces.
WIDEST, NARROWEST = 1.0, 0.3
#: The model is fitted after each so many pairs.
REFIT = 16
#: The weight of the squares of the coefficients.
_RIDGE = 0.5
_NEWTON_STEPS = 12
#: The number of values of each parameter among which the maximum is searched.
_GRID = 41

_Vector = NDArray[np.float64]


@dataclass
class Quadratic:
    """A tuning of `steps` steps; `done` counts those whose points are known."""

    parameters: Sequence[TunedParameter]
    steps: int
    seed: int = 0
    done: int = field(default=0, init=False)
    values: Values = field(init=False)
    _differences: list[_Vector] = field(init=False, default_factory=list)
    _shares: list[float] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.values = {each.name: each.start for each in self.parameters}
        axis = np.linspace(-1, 1, _GRID)
        self._grid = np.array(list(itertools.product(axis, repeat=len(self.parameters))))
        self._grid_terms = np.array([self._terms(each) for each in self._grid])

    def sides(self, step: int) -> tuple[Values, Values]:
        """Return the two sets of values that a step compares, near the current values."""
        drawn = random.Random(f"{self.seed} {step}")
        width = WIDEST + (NARROWEST - WIDEST) * step / self.steps
        first: dict[str, float] = {}
        second: dict[str, float] = {}
        for each in self.parameters:
            half = width * (each.high - each.low) / 2
            middle = min(max(self.values[each.name], each.low + half), each.high - half)
            for side in (first, second):
                side[each.name] = drawn.uniform(middle - half, middle + half)
        return first, second

    def learn(self, step: int, points: float, sides: tuple[Values, Values]) -> None:
        """Note the points of the first side in both matches of a pair, 0 to 2."""
        first, second = (self._terms(self._scaled(each)) for each in sides)
        self._differences.append(first - second)
        self._shares.append(points / 2)
        self.done += 1
        if self.done % REFIT == 0 or self.done == self.steps:
            self._refit()

    @property
    def result(self) -> Values:
        """The values of the model's maximum."""
        return dict(self.values)

    def _scaled(self, values: Mapping[str, float]) -> _Vector:
        """Return values from -1 to 1."""
        return np.array(
            [2 * (values[p.name] - p.low) / (p.high - p.low) - 1 for p in self.parameters]
        )

    @staticmethod
    def _terms(at: _Vector) -> _Vector:
        """Return the linear and the quadratic terms of the model."""
        products = [a * b for a, b in itertools.combinations_with_replacement(at, 2)]
        return np.array([*at, *products])

    def _refit(self) -> None:
        terms, shares = np.array(self._differences), np.array(self._shares)
        weights = np.zeros(terms.shape[1])
        for _ in range(_NEWTON_STEPS):
            expected = 1 / (1 + np.exp(-np.clip(terms @ weights, -30, 30)))
            slope = terms.T @ (2 * (shares - expected)) - _RIDGE * weights
            curvature = (terms.T * (2 * expected * (1 - expected))) @ terms
            weights += np.linalg.solve(curvature + _RIDGE * np.eye(len(weights)), slope)
        best = self._maximum(weights)
        self.values = {
            each.name: each.low + (float(at) + 1) / 2 * (each.high - each.low)
            for each, at in zip(self.parameters, best, strict=True)
        }

    def _maximum(self, weights: _Vector) -> _Vector:
        """Return the best point of the grid, refined along each axis by the parabola there."""
        best: _Vector = self._grid[np.argmax(self._grid_terms @ weights)].copy()
        near = 2 / (_GRID - 1)
        for _ in range(3):
            for axis in range(len(best)):
                low, here, high = (
                    float(self._terms(best + each * near * np.eye(len(best))[axis]) @ weights)
                    for each in (-1, 0, 1)
                )
                bend = low - 2 * here + high
                if bend < 0:
                    moved = best[axis] + near * float(np.clip((low - high) / (2 * bend), -1, 1))
                    best[axis] = np.clip(moved, -1, 1)
        return best
