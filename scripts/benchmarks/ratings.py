"""Prediction of the next match by ratings that weigh all matches alike, or late ones more.

On simulated histories of matches without ties, a joint fit is made again every 100 matches, once
for each half-life: the number of later matches that halve the weight of a match. *Elo* is rated
after each match, and *true* knows the ratings that the results are drawn from. Before a match, both
of its players drift by a normal step. The numbers are the mean of -ln of the probability of the
result: less is better.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from typing import NamedTuple

import numpy as np

from playout.ratings.bradley_terry import Ratings, rate
from playout.ratings.leaderboard import EloRatings
from testbed.bench import Bench, Column, ResultTable

STEPS = (0.0, 3.0, 10.0)
HALF_LIVES = (4000, 1500, 500)
PLAYERS, DEVIATION, REFIT = 40, 200.0, 100

COLUMNS = (
    Column("step", "step in Elo"),
    Column("true", "true", ".4f"),
    Column("alike", "all alike", ".4f"),
    *(Column(str(each), f"halved in {each:,}", ".4f") for each in HALF_LIVES),
    Column("elo", "Elo", ".4f"),
)


class _Match(NamedTuple):
    """Two players by number, whether the first has won, and the probability of that."""

    first: int
    second: int
    won: bool
    chance: float


def run(bench: Bench) -> list[ResultTable]:
    """Return a row for each step, with a column for each way to rate."""
    matches, seeds = bench.pick(4000, 600), bench.pick(3, 1)
    table = ResultTable("Mean of -ln of the probability of the result", COLUMNS)
    for step in bench.track(STEPS, lambda each: f"step {each:g}"):
        losses = defaultdict[str, list[float]](list)
        for seed in range(seeds):
            _predict(_history(step, seed, matches), losses)
        means = {key: statistics.fmean(values) for key, values in losses.items()}
        table.add(None, step=f"{step:g}", **means)
    return [table]


def _history(step: float, seed: int, matches: int) -> list[_Match]:
    rng = np.random.default_rng(seed)
    ratings = rng.normal(0, DEVIATION, PLAYERS)
    found = []
    for _ in range(matches):
        first, second = (int(each) for each in rng.choice(PLAYERS, 2, replace=False))
        ratings[first] += rng.normal(0, step)
        ratings[second] += rng.normal(0, step)
        chance = _expected(ratings[first] - ratings[second])
        found.append(_Match(first, second, bool(rng.random() < chance), chance))
    return found


def _predict(history: list[_Match], losses: dict[str, list[float]]) -> None:
    """Add the losses of each way at the last three quarters of the matches."""
    elo, fits = EloRatings(), dict[str, Ratings]()
    first_predicted = len(history) // 4
    for number, match in enumerate(history):
        first, second = match.first, match.second
        if number >= first_predicted:
            if not fits or number % REFIT == 0:
                fits = {"alike": _fit(history[:number], math.inf)}
                fits |= {str(each): _fit(history[:number], each) for each in HALF_LIVES}
            for name, fit in fits.items():
                chance = _expected(fit.elo[first] - fit.elo[second] + fit.first_move)
                losses[name].append(_loss(chance, match.won))
            chance = _expected(elo.rating(first) - elo.rating(second))
            losses["elo"].append(_loss(chance, match.won))
            losses["true"].append(_loss(match.chance, match.won))
        elo.add(first, second, float(match.won))


def _fit(history: list[_Match], half_life: float) -> Ratings:
    counts: dict[tuple[int, int], list[float]] = {}
    for number, match in enumerate(history):
        results = counts.setdefault((match.first, match.second), [0.0, 0.0, 0.0])
        results[0 if match.won else 2] += 0.5 ** ((len(history) - number) / half_life)
    return rate(PLAYERS, {pair: (won, tied, lost) for pair, (won, tied, lost) in counts.items()})


def _expected(difference: float) -> float:
    return float(1 / (1 + 10 ** (-difference / 400)))


def _loss(chance: float, won: bool) -> float:
    return -math.log(max(1e-6, chance if won else 1 - chance))
