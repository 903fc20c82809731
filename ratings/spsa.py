"""Tuning of parameters by SPSA: simultaneous perturbation stochastic approximation.

Spall 1992, *Multivariate stochastic approximation using a simultaneous perturbation gradient
approximation*, IEEE Transactions on Automatic Control 37:332-341, with constant steps and the mean
of the last half of the values.

Each step plays one pair of matches between two sets of values: all parameters perturbed at once,
and the opposite perturbation. The values move towards the side that won. Pure: a tuning is a
function of its parameters, its seed, and the points of its steps in their order.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

#: The perturbation, as a share of the range of a parameter.
PERTURBATION = 0.15
#: The share of a perturbation that a won match moves the values by, times the number of steps: of
#: 10, 20, 40, 67 and 130 the best compromise on quadratic surfaces with two and six parameters, and
#: on a flat one. tests/unit/ratings/test_spsa.py has these surfaces.
RATE = 40.0

Values = Mapping[str, float]


@dataclass(frozen=True)
class TunedParameter:
    """A parameter with its range and the value to start from; `whole` rounds its values.

    `passed` says how a program gets it: by an "argument", in which {} stands for the value, a
    variable of the "environment", or an option of its protocol ("setoption"); `target` has its
    text or its name there. The options of a player are passed as an "option".
    """

    name: str
    low: float
    high: float
    start: float
    whole: bool = False
    passed: str = "option"
    target: str = ""

    def clipped(self, value: float) -> float:
        """Return the nearest value of the range."""
        return min(self.high, max(self.low, value))

    def shown(self, value: float) -> str:
        """Return a value as an option of a player has it."""
        value = self.clipped(value)
        return str(round(value)) if self.whole else f"{value:.4g}"


@dataclass
class Spsa:
    """A tuning of `steps` steps; `done` counts those whose points are known."""

    parameters: Sequence[TunedParameter]
    steps: int
    seed: int = 0
    done: int = field(default=0, init=False)
    values: dict[str, float] = field(init=False)
    _sums: dict[str, float] = field(init=False)

    def __post_init__(self) -> None:
        self.values = {each.name: each.start for each in self.parameters}
        self._sums = dict.fromkeys(self.values, 0.0)

    def sides(self, step: int) -> tuple[Values, Values]:
        """Return the two sets of values that a step compares, near the current values."""
        moves = self._moves(step)
        plus, minus = (
            {
                each.name: each.clipped(self.values[each.name] + sign * moves[each.name])
                for each in self.parameters
            }
            for sign in (1, -1)
        )
        return plus, minus

    def learn(self, step: int, points: float, sides: tuple[Values, Values] | None = None) -> None:
        """Move the values by the points of the first side in both matches of a step, 0 to 2.

        The step decides the sides, which are not used.
        """
        moves = self._moves(step)
        for each in self.parameters:
            change = RATE / self.steps * 2 * (points - 1) * moves[each.name]
            self.values[each.name] = each.clipped(self.values[each.name] + change)
        self.done += 1
        if 2 * self.done > self.steps:
            for name, value in self.values.items():
                self._sums[name] += value

    @property
    def result(self) -> Values:
        """The mean of the values over the last half of the steps; before it, the values."""
        summed = self.done - self.steps // 2
        if summed <= 0:
            return dict(self.values)
        return {name: total / summed for name, total in self._sums.items()}

    def _moves(self, step: int) -> dict[str, float]:
        """Return the perturbation of a step, which depends on nothing but the seed and the step."""
        drawn = random.Random(f"{self.seed} {step}")
        return {
            each.name: drawn.choice((-1, 1)) * PERTURBATION * (each.high - each.low)
            for each in self.parameters
        }
