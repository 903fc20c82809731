"""Prediction of the next match by ratings that weigh all matches alike, or late ones more.

On simulated histories of matches without ties, a joint fit is made again after every 10 matches of
a player, once for each half-life: the number of a player's later matches that halve the weight of a
match. *Elo* is rated after each match, and *true* knows the ratings that the results are drawn
from. Before a match, both of its players drift by a normal step. The numbers are the mean of -ln of
the probability of the result: less is better.
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
HALF_LIVES = (200, 75, 25)
DEVIATION, REFIT = 200.0, 10

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
    players, matches = bench.pick(200, 40), bench.pick(100_000, 600)
    table = ResultTable("Mean of -ln of the probability of the result", COLUMNS)
    for step in bench.track(STEPS, lambda each: f"step {each:g}"):
        losses = _losses(_history(step, players, matches), players)
        means = {key: statistics.fmean(values) for key, values in losses.items()}
        table.add(None, step=f"{step:g}", **means)
    return [table]


def _history(step: float, players: int, matches: int) -> list[_Match]:
    rng = np.random.default_rng(0)
    ratings = rng.normal(0, DEVIATION, players)
    found = []
    for _ in range(matches):
        first, second = (int(each) for each in rng.choice(players, 2, replace=False))
        ratings[first] += rng.normal(0, step)
        ratings[second] += rng.normal(0, step)
        chance = _expected(ratings[first] - ratings[second])
        found.append(_Match(first, second, bool(rng.random() < chance), chance))
    return found


def _losses(history: list[_Match], players: int) -> dict[str, list[float]]:
    """Return the losses of each way at the last three quarters of the matches."""
    losses = defaultdict[str, list[float]](list)
    elo, fits = EloRatings(), dict[str, Ratings]()
    results = {"alike": _Results(players, math.inf)}
    results |= {str(each): _Results(players, each * players / 2) for each in HALF_LIVES}
    first_predicted, refit = len(history) // 4, REFIT * players // 2
    for number, match in enumerate(history):
        first, second = match.first, match.second
        if number >= first_predicted:
            if not fits or number % refit == 0:
                fits = {name: each.fit() for name, each in results.items()}
            for name, fit in fits.items():
                chance = _expected(fit.elo[first] - fit.elo[second] + fit.first_move)
                losses[name].append(_loss(chance, match.won))
            chance = _expected(elo.rating(first) - elo.rating(second))
            losses["elo"].append(_loss(chance, match.won))
            losses["true"].append(_loss(match.chance, match.won))
        elo.add(first, second, float(match.won))
        for each in results.values():
            each.add(match)
    return losses


class _Results:
    """The weights of the results of each two players, of which later ones count more."""

    def __init__(self, players: int, half_life: float) -> None:
        """`half_life`: the number of later matches that halve the weight of a match."""
        #: The weights of what the first player of a pair has won and lost, in units of `_unit`.
        self._weights = np.zeros((2, players, players))
        self._unit, self._decay = 1.0, 0.5 ** (1 / half_life)

    def add(self, match: _Match) -> None:
        self._unit *= self._decay
        self._weights[0 if match.won else 1, match.first, match.second] += 1 / self._unit
        if self._unit < 1e-9:
            self._weights *= self._unit
            self._unit = 1.0

    def fit(self) -> Ratings:
        won, lost = self._weights * self._unit
        pairs = zip(*np.nonzero(won + lost), strict=True)
        counts = {(int(i), int(j)): (float(won[i, j]), 0.0, float(lost[i, j])) for i, j in pairs}
        return rate(len(won), counts)


def _expected(difference: float) -> float:
    return float(1 / (1 + 10 ** (-difference / 400)))


def _loss(chance: float, won: bool) -> float:
    return -math.log(max(1e-6, chance if won else 1 - chance))
