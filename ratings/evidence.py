"""Evidence of two players' strength: which is stronger, by how much, and how certain that is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist

from playout.ratings.pairs import Pair, PairScore

_NORMAL = NormalDist()
#: The number of standard deviations around the mean that hold 95 % of a normal distribution.
Z = _NORMAL.inv_cdf(0.975)
#: The games of a pair.
GAMES = 2
#: Normalized Elo points in one standard deviation of a game's score.
NELO_PER_DEVIATION = 800 / math.log(10)


@dataclass(frozen=True)
class Pentanomial:
    """Numbers of pairs by their two results: `ld` is a loss and a tie in either order."""

    ll: int = 0
    ld: int = 0
    wl: int = 0
    dd: int = 0
    wd: int = 0
    ww: int = 0

    @property
    def count(self) -> int:
        """The number of all pairs."""
        return sum(self.frequencies)

    @property
    def frequencies(self) -> tuple[int, ...]:
        """The numbers of pairs with 0, 1/2, 1, 3/2 and 2 points."""
        return (self.ll, self.ld, self.wl + self.dd, self.wd, self.ww)

    @property
    def ties(self) -> int:
        """The number of tied games."""
        return self.ld + 2 * self.dd + self.wd


@dataclass(frozen=True)
class Evidence:
    """The strength of a player against another. None is an unknown number.

    `score` is the share of the points, 0 to 1. Half-widths (`elo_error`, `nelo_error`) and
    `elo_low`, `elo_high` are at 95 % confidence. For a player that won everything `elo` is None, as
    it would be infinite, and so are `elo_error` and `elo_high`; `elo_low` is known. `los` is the
    likelihood of superiority, `draw_ratio` the share of tied games.
    """

    games: int
    score: float | None = None
    elo: float | None = None
    elo_error: float | None = None
    elo_low: float | None = None
    elo_high: float | None = None
    nelo: float | None = None
    nelo_error: float | None = None
    los: float | None = None
    draw_ratio: float | None = None


def scores_of(entrant: int, played: Iterable[tuple[Pair, PairScore]]) -> list[PairScore]:
    """Return the scores of an entrant, pair by pair; pairs of other entrants are left out."""
    return [
        score if pair.entrants[0] == entrant else PairScore(1 - score.first, 1 - score.second)
        for pair, score in played
        if entrant in pair.entrants
    ]


def pentanomial(entrant: int, played: Iterable[tuple[Pair, PairScore]]) -> Pentanomial:
    """Count the pairs of an entrant by its two results."""
    kinds = Counter(_KINDS[min(score), max(score)] for score in scores_of(entrant, played))
    return Pentanomial(**kinds)


_KINDS = {
    (0.0, 0.0): "ll",
    (0.0, 0.5): "ld",
    (0.0, 1.0): "wl",
    (0.5, 0.5): "dd",
    (0.5, 1.0): "wd",
    (1.0, 1.0): "ww",
}


def evidence(counts: Pentanomial) -> Evidence:
    """Return the strength that follows from the results of a player.

    The formulas are those of fastchess (`app/src/matchmaking/elo/elo_pentanomial.cpp`) and fishtest
    (`stat_util.py`). With the mean μ and the variance v of the scores of n pairs, as shares of
    their points, μ ± 1.96 √(v/n) on the logistic curve gives Elo; (μ - 1/2) / √(2 v) · 800 / ln 10
    normalized Elo; and Φ((μ - 1/2) / √(v/n)) the likelihood of superiority.

    They do not apply if all pairs ended alike, so that v is 0. Fishtest adds a thousandth of a pair
    then, which makes one pair as certain as a thousand. Instead, the interval here is the exact one
    (Clopper & Pearson 1934, Biometrika 26:404-413) of the share q of pairs that may end otherwise,
    at worst lost or at best won; and the likelihood of superiority is that of n pairs won and none
    lost, with a uniform prior of all shares: 1 - 1/2ⁿ⁺¹.
    """
    frequencies = counts.frequencies
    n, steps = sum(frequencies), len(frequencies) - 1
    if not n:
        return Evidence(games=0)
    mean = sum(points * count for points, count in enumerate(frequencies)) / (n * steps)
    variance = sum((i / steps - mean) ** 2 * count for i, count in enumerate(frequencies)) / n
    alike = max(frequencies) == n
    low, high = _alike_interval(mean, n) if alike else _interval(mean, variance, n)
    nelo, nelo_error = _nelo(mean, 0.0 if alike else variance, n)
    elo_low, elo_high = elo(low), elo(high)
    return Evidence(
        games=GAMES * n,
        score=mean,
        elo=elo(mean),
        elo_error=None if elo_low is None or elo_high is None else (elo_high - elo_low) / 2,
        elo_low=elo_low,
        elo_high=elo_high,
        nelo=nelo,
        nelo_error=nelo_error,
        los=_alike_los(mean, n) if alike else _NORMAL.cdf((mean - 0.5) / math.sqrt(variance / n)),
        draw_ratio=counts.ties / (GAMES * n),
    )


def elo(score: float) -> float | None:
    """Return the Elo difference with that expected share of the points; None for 0 and 1."""
    return 400 * math.log10(score / (1 - score)) if 0 < score < 1 else None


def _interval(mean: float, variance: float, n: int) -> tuple[float, float]:
    margin = Z * math.sqrt(variance / n)
    return mean - margin, mean + margin


def _alike_interval(mean: float, n: int) -> tuple[float, float]:
    otherwise = 1 - 0.025 ** (1 / n)
    return mean * (1 - otherwise), mean + (1 - mean) * otherwise


def _alike_los(mean: float, n: int) -> float:
    if mean == 0.5:
        return 0.5
    wrong = 0.5 ** (n + 1)
    return 1 - wrong if mean > 0.5 else wrong


def _nelo(mean: float, variance: float, n: int) -> tuple[float | None, float | None]:
    """Return normalized Elo and its half-width, which depends only on the number of games."""
    if not variance and mean != 0.5:
        return None, None
    deviations = (mean - 0.5) / math.sqrt(GAMES * variance) if variance else 0.0
    half_width = Z / math.sqrt(GAMES * n)
    return NELO_PER_DEVIATION * deviations, NELO_PER_DEVIATION * half_width
