"""Measurements: rounds, medians, rates and percentiles."""

from __future__ import annotations

import math
import statistics
import time
import timeit
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from playout.protocol.messages import Analysis, Reason
from playout.server.model.records import StoredMatch

#: The games whose first position the benchmarks of rules, search and server use.
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
    """The numbers of a measurement, one per round."""

    @property
    def median(self) -> float:
        """The median of the rounds, which tables show."""
        return statistics.median(self)

    def over(self, other: Sample) -> Sample:
        """Return the ratios round by round: a disturbance of a round affects both numbers."""
        return Sample(mine / theirs for mine, theirs in zip(self, other, strict=True))


def median_interval(values: Iterable[float]) -> tuple[float, float]:
    """Return the 95 % confidence interval of the median; its bounds are two of the values.

    It is the interval of the sign test, valid for every distribution: each value is above or below
    the true median with equal probability. With fewer than six values its bounds are the least and
    the greatest value, and its confidence is lower.
    """
    ordered = sorted(values)
    count, beyond, outside = len(ordered), 0, 2 / 2 ** len(ordered)
    while (outside := outside + 2 * math.comb(count, beyond + 1) / 2**count) <= 0.05:
        beyond += 1
    return ordered[beyond], ordered[count - 1 - beyond]


def alternate(rounds: int, **measures: Callable[[], float]) -> dict[str, Sample]:
    """Take each measure once per round, so that disturbances affect all of them."""
    taken: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(rounds):
        for name, measure in measures.items():
            taken[name].append(measure())
    return {name: Sample(values) for name, values in taken.items()}


def in_turns(
    rounds: int,
    ratios: Mapping[str, tuple[str, str]],
    measures: Mapping[str, Callable[[], float]],
) -> dict[str, Sample]:
    """Return the samples of measures, which take turns, and ratios of two of them, by name.

    Each measure is first taken once, to touch memory and warm the caches. A ratio is left out if
    one of its two measures is.
    """
    for measure in measures.values():
        measure()
    taken = alternate(rounds, **measures)
    return taken | {
        name: taken[ours].over(taken[theirs])
        for name, (ours, theirs) in ratios.items()
        if ours in taken and theirs in taken
    }


def rate(run: Callable[[int], object], seconds: float) -> float:
    """Return the number of repetitions that `run` does per second.

    `run(n)` does n repetitions; n grows until that takes `seconds`.
    """
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
    """Return the number of calls of `call` per second from Python."""
    return rate(timeit.Timer(call).timeit, seconds)


def percentile(values: Iterable[float], percent: float) -> float:
    """Return the smallest value that `percent` per cent of all do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


# Stored matches: their time, the work of their bots, and the losses on time.


def span_s(matches: Sequence[StoredMatch]) -> float:
    """Return the seconds from the start of the first match to the end of the last."""
    ends = [match.ended.at for match in matches if match.ended]
    return max(ends) - min(match.started.at for match in matches)


def thinking_s(matches: Iterable[StoredMatch]) -> float:
    """Return the sum of the thinking times that the players report."""
    return sum(each.seconds or 0.0 for each in _thoughts(matches))


def overhead(matches: Sequence[StoredMatch], at_once: int) -> dict[str, float]:
    """Return the cells that compare the time of matches with the lower bound.

    That is the thinking time that the players report, divided by the number of matches at once.
    """
    wall_s, spent_s = span_s(matches), thinking_s(matches) / at_once
    return {
        "matches": len(matches),
        "wall_s": wall_s,
        "thinking_s": spent_s,
        "ratio": wall_s / spent_s,
    }


def simulations(matches: Iterable[StoredMatch]) -> int:
    """Return the sum of the simulations that the players report."""
    return sum(each.simulations or 0 for each in _thoughts(matches))


def lost_on_time(matches: Iterable[StoredMatch]) -> int:
    """Return the number of matches that were lost on time."""
    return sum(match.ended is not None and match.ended.reason is Reason.TIME for match in matches)


def _thoughts(matches: Iterable[StoredMatch]) -> Iterator[Analysis]:
    analyses = (move.analysis for match in matches for move in match.moves)
    return filter(None, analyses)
