"""Sequential tests of two players: whether one is stronger by elo1 or only by elo0.

The generalized sequential probability ratio test, as in fishtest and fastchess. The score of a pair
of matches is 0, 1/4, 1/2, 3/4 or 1 of its points. Each hypothesis gives an Elo; among the
distributions of scores with that Elo, the likeliest one is computed. The logarithm of the ratio of
the two likelihoods (LLR) changes with each pair, until it crosses a bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from playout.protocol.tournament_spec import Sprt
from playout.ratings.evidence import NELO_PER_DEVIATION, scores_of
from playout.ratings.pairs import Pair, PairScore

Floats = NDArray[np.float64]
#: The count that stands for a score that never occurred, as in fishtest and fastchess.
NEVER = 1e-3
#: Iterations end at this change, or after this many steps.
_ROOT_CHANGE, _ROOT_STEPS = 1e-14, 100
_CHANGE, _STEPS = 1e-9, 30
#: The share of the way to a pole within which a root is searched.
_INSIDE = 1 - 1e-12


class Bounds(NamedTuple):
    """Bounds of the LLR: at or below `lower` elo0 is accepted, at or above `upper` elo1."""

    lower: float
    upper: float


class Verdict(NamedTuple):
    """The result of a test after `pairs` pairs, with its LLR.

    `accepted` is None while the test goes on. After its end, `pairs` and `llr` are those of the
    first crossing of a bound, whatever was played later.
    """

    accepted: Literal["H0", "H1"] | None
    pairs: int
    llr: float


def bounds(test: Sprt) -> Bounds:
    """Return Wald's bounds for the errors alpha (elo1 accepted, elo0 true) and beta (reverse)."""
    return Bounds(
        math.log(test.beta / (1 - test.alpha)),
        math.log((1 - test.beta) / test.alpha),
    )


def llrs(frequencies: ArrayLike, test: Sprt) -> Floats:
    """Return the LLR of each row of frequencies (n by 5 or n by 3, the lowest score first).

    The score is the mean of the distribution in the "logistic" model, and in the "normalized" one
    its distance from 1/2 in standard deviations, as in fishtest (`LLRcalc.py`) and fastchess
    (`sprt.cpp`).
    """
    counts = np.asarray(frequencies, dtype=np.float64)
    regular = np.where(counts == 0, NEVER, counts)
    shares = regular / regular.sum(axis=1, keepdims=True)
    null, other = (_likeliest(shares, elo, test.model) for elo in (test.elo0, test.elo1))
    ratios = np.sum(regular * np.log(other / null), axis=1)
    return np.where(counts.any(axis=1), ratios, 0.0)


def curve(
    played: Iterable[tuple[Pair, PairScore]], test: Sprt, before: Sequence[int] = (0,) * 5
) -> list[float]:
    """Return the LLR after each pair. `played` is in schedule order, between entrants 0 and 1.

    `before`: the frequencies of the pairs that were played earlier.
    """
    points = np.array([score.total for score in scores_of(0, played)])
    happened = 2 * points[:, np.newaxis] == np.arange(5)
    return [float(each) for each in llrs(before + np.cumsum(happened, axis=0), test)]


def verdict(curve: Sequence[float], test: Sprt) -> Verdict:
    """Return the result that follows from the LLR after each pair."""
    lower, upper = bounds(test)
    for pairs, each in enumerate(curve, 1):
        if each <= lower:
            return Verdict("H0", pairs, each)
        if each >= upper:
            return Verdict("H1", pairs, each)
    return Verdict(None, len(curve), curve[-1] if curve else 0.0)


def _likeliest(shares: Floats, elo: float, model: str) -> Floats:
    """Return in each row the likeliest distribution with this Elo."""
    if model == "logistic":
        return _with_mean(shares, 1 / (1 + 10 ** (-elo / 400)))
    games_each = shares.shape[1] // 2
    return _with_distance(shares, elo * math.sqrt(games_each) / NELO_PER_DEVIATION)


def _with_mean(shares: Floats, mean: float) -> Floats:
    """Return distributions with this mean: Van den Bergh, *Comments on normalized Elo*, prop. 1.1.

    https://www.cantate.be/Fishtest/normalized_elo_practical.pdf
    """
    scores = np.linspace(0, 1, shares.shape[1])
    return _tilted(shares, np.broadcast_to(scores - mean, shares.shape))


def _with_distance(shares: Floats, distance: float) -> Floats:
    """Return distributions with mean 1/2 + `distance` standard deviations: section 4.1 there."""
    scores = np.linspace(0, 1, shares.shape[1])
    found = np.broadcast_to(_any_with_distance(scores, distance), shares.shape)
    for _ in range(_STEPS):
        mean = found @ scores
        from_mean = scores - mean[:, np.newaxis]
        deviation = np.sqrt(np.sum(found * from_mean**2, axis=1))[:, np.newaxis]
        before = found
        found = _tilted(
            shares, scores - 0.5 - distance * deviation * (1 + (from_mean / deviation) ** 2) / 2
        )
        if np.all(np.abs(found - before) < _CHANGE):
            break
    return found


def _any_with_distance(scores: Floats, distance: float) -> Floats:
    """Return a distribution to start from: uniform, with more of the best or of the worst score.

    The paper starts from the uniform distribution, from which the iteration fails if `distance` is
    large: beyond 231 normalized Elo for pairs. With an additional share w at one end, the square of
    the mean's distance from 1/2 is w²/4 and the variance (1 - w) (v + w/4), with v the variance of
    the uniform distribution; w is solved for `distance`.
    """
    square, alike = distance**2, float(scores.var())
    half_b = square * (alike - 0.25) / (1 + square)
    more = 2 * (math.sqrt(half_b**2 + square * alike / (1 + square)) - half_b)
    start = np.full(len(scores), (1 - more) / len(scores))
    start[-1 if distance > 0 else 0] += more
    return start


def _tilted(shares: Floats, values: Floats) -> Floats:
    """Return in each row the likeliest distribution for which `values` have the mean 0.

    With p the shares and a the values, it is p / (1 + θ a), with θ such that the sum of
    p a / (1 + θ a) is 0. The sum falls from +∞ to -∞ between two poles. Newton's method finds the
    root; a step that would leave the interval is replaced by halving it. The method is applied to
    the sum times the distances from both poles, which is nearly linear even if the root is close to
    a pole, as it is when a score never occurred.
    """
    low, high = -1 / values.max(axis=1), -1 / values.min(axis=1)
    left, right, theta = _INSIDE * low, _INSIDE * high, np.zeros(len(shares))
    for _ in range(_ROOT_STEPS):
        terms = values / (1 + theta[:, np.newaxis] * values)
        height, fall = np.sum(shares * terms, axis=1), np.sum(shares * terms**2, axis=1)
        left, right = np.where(height > 0, theta, left), np.where(height < 0, theta, right)
        apart = (theta - low) * (high - theta)
        newton = theta - height * apart / (height * (low + high - 2 * theta) - fall * apart)
        after = np.where((left <= newton) & (newton <= right), newton, (left + right) / 2)
        still = np.abs(after - theta) > _ROOT_CHANGE * np.maximum(1, np.abs(theta))
        theta = after
        if not still.any():
            break
    return shares / (1 + theta[:, np.newaxis] * values)
