"""Rounds, medians and rates."""

from __future__ import annotations

import math
import statistics
import time
import timeit
from collections.abc import Callable, Iterable

#: The first position of these is what the benchmarks of rules, search and server start from.
GAMES = (
    "tic_tac_toe",
    "connect_four",
    "othello",
    "mnk(m=8,n=8,k=5)",
    "gomoku",
    "ultimate_tic_tac_toe",
    "nim",
)


class Sample(tuple[float, ...]):
    """One number a round."""

    @property
    def median(self) -> float:
        """What stands in the table."""
        return statistics.median(self)

    def over(self, other: Sample) -> Sample:
        """The ratio, round by round: what disturbs a round disturbs both."""
        return Sample(mine / theirs for mine, theirs in zip(self, other, strict=True))


def median_interval(values: Iterable[float]) -> tuple[float, float]:
    """Two of the values that hold the true median between them in 95 % of such measurements.

    Each value is above it or below it with equal chances, whatever their distribution (the interval
    of the sign test). Below six values it is the least and the greatest, which is less sure.
    """
    ordered = sorted(values)
    count, beyond, outside = len(ordered), 0, 2 / 2 ** len(ordered)
    while (outside := outside + 2 * math.comb(count, beyond + 1) / 2**count) <= 0.05:
        beyond += 1
    return ordered[beyond], ordered[count - 1 - beyond]


def alternate(rounds: int, **measures: Callable[[], float]) -> dict[str, Sample]:
    """Take each measure once a round, so that all of them see the same disturbances."""
    taken: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(rounds):
        for name, measure in measures.items():
            taken[name].append(measure())
    return {name: Sample(values) for name, values in taken.items()}


def rate(run: Callable[[int], object], seconds: float) -> float:
    """How many a second: `run(n)` does n of them; n grows until that takes so many seconds."""
    count = 1
    while True:
        started = time.perf_counter()
        run(count)
        took = time.perf_counter() - started
        if took >= seconds:
            return count / took
        wanted = 1.1 * count * seconds / max(took, 1e-7)
        count = max(2 * count, min(100 * count, int(wanted)))


def calls_a_second(call: Callable[[], object], seconds: float) -> float:
    """How often a second `call()` can be made from Python."""
    return rate(timeit.Timer(call).timeit, seconds)


def percentile(values: Iterable[float], percent: float) -> float:
    """The smallest value that so many per cent of all do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]
