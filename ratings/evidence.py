"""Evidence of two players' strength: which is stronger, by how much, and how certain that is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

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
    it would be infinite, and so are `elo_error` and `elo_high`; `elo_low` is known. `elo_error` is
    half of the interval, which is not symmetric where the results are one-sided. `los` is the
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

    They do not apply to few or one-sided results: v is too small, or 0, and the interval reaches
    beyond 0 or 1. Fishtest adds a thousandth of a pair, which makes one pair as certain as a
    thousand. Instead, the interval is then the exact one of a share (Clopper & Pearson 1934,
    Biometrika 26:404-413) with the effective number of matches in place of their number (Korn &
    Graubard 1998, Survey Methodology 24:193-201): the number of independent matches whose mean is
    as certain, n μ (1 - μ) / v, but not more than the matches that were played. The likelihood of
    superiority follows from the same number, with a uniform prior of all shares.

    So 2 n matches, all won, count as independent: equal players would end so once in 4ⁿ. If one
    side or opening is better, both matches are won even less often. Six wins are significant at
    5 % (1 in 32, both sides counted), four are not (1 in 8). That a player is stronger in some
    openings and weaker in others is left out: one-sided results show nothing of it.

    If all pairs ended alike with another score, such as two ties, the interval is the exact one of
    the share q of pairs that may end otherwise, at worst lost or at best won.
    """
    frequencies = counts.frequencies
    n, steps = sum(frequencies), len(frequencies) - 1
    if not n:
        return Evidence(games=0)
    mean = sum(points * count for points, count in enumerate(frequencies)) / (n * steps)
    variance = sum((i / steps - mean) ** 2 * count for i, count in enumerate(frequencies)) / n
    alike = max(frequencies) == n
    low, high = _interval(mean, variance, n)
    if mean in (0, 1) or low <= 0 or high >= 1:
        matches = _effective_matches(mean, variance, n)
        low, high = _exact_interval(mean, matches)
        los = _exact_los(mean, matches)
    elif alike:
        low, high = _alike_interval(mean, n)
        los = 0.5 if mean == 0.5 else _exact_los(float(mean > 0.5), n)
    else:
        los = _NORMAL.cdf((mean - 0.5) / math.sqrt(variance / n))
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
        los=los,
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


def _effective_matches(mean: float, variance: float, n: int) -> float:
    played = float(GAMES * n)
    return min(played, n * mean * (1 - mean) / variance) if variance else played


def _exact_interval(mean: float, matches: float) -> tuple[float, float]:
    from scipy.special import betaincinv

    won, lost = mean * matches, (1 - mean) * matches
    low = float(betaincinv(won, lost + 1, 0.025)) if mean > 0 else 0.0
    high = float(betaincinv(won + 1, lost, 0.975)) if mean < 1 else 1.0
    return low, high


def _exact_los(mean: float, matches: float) -> float:
    from scipy.special import betainc  # its import takes 0.1 s, a quarter of that of a command

    return float(betainc((1 - mean) * matches + 1, mean * matches + 1, 0.5))


def _nelo(mean: float, variance: float, n: int) -> tuple[float | None, float | None]:
    """Return normalized Elo and its half-width, which depends only on the number of games."""
    if not variance and mean != 0.5:
        return None, None
    deviations = (mean - 0.5) / math.sqrt(GAMES * variance) if variance else 0.0
    half_width = Z / math.sqrt(GAMES * n)
    return NELO_PER_DEVIATION * deviations, NELO_PER_DEVIATION * half_width


class Share(NamedTuple):
    """How many of a number of independent trials succeeded."""

    successes: int
    trials: int

    @property
    def value(self) -> float:
        """The share, from 0 to 1."""
        return self.successes / self.trials

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the share (Wilson 1927, JASA 22:209-212)."""
        won, n, z2 = self.successes, self.trials, Z**2
        width = Z * math.sqrt(won * (n - won) / n + z2 / 4)
        return (won + z2 / 2 - width) / (n + z2), (won + z2 / 2 + width) / (n + z2)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{100 * self.value:.1f} ({100 * low:.0f}-{100 * high:.0f})"
