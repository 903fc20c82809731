"""Sequential tests of two players: a probability ratio test (SPRT), and evidence by betting.

The first decides whether one is stronger by elo1 or only by elo0. It is the generalized sequential
probability ratio test, as in fishtest and fastchess. The score of a pair of matches is 0, 1/4, 1/2,
3/4 or 1 of its points. Each hypothesis gives an Elo; among the distributions of scores with that
Elo, the likeliest one is computed. The logarithm of the ratio of the two likelihoods (LLR) changes
with each pair, until it crosses a bound.

Both can use scores without luck (`playout.ratings.luck`), which lie from -1 to 2; the first then
bets, too. Their goals stay differences of the players' strength in deviations of the scores with
luck, so that a test without luck looks for the same difference, with fewer pairs.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from playout.protocol.tournament_spec import Betting, Sprt
from playout.ratings.evidence import GAMES, NELO_PER_DEVIATION, scores_of
from playout.ratings.luck import shares_without_luck
from playout.ratings.pairs import Key, Pair, PairScore

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


def curve_without_luck(raw: Sequence[float], scores: Sequence[float], test: Sprt) -> list[float]:
    """Return the evidence after each pair, of scores of entrant 0 that lie from -1 to 2.

    `raw` are the scores with luck. The evidence is compared with the bounds of the LLR, and is
    near it. It comes from two gamblers, as in the betting test below: one bets that the mean is
    more than elo0 says, the other that it is less than elo1 says. Their bets are those with which
    a gambler's capital is near the likelihood ratio, limited so that no pair costs more than nine
    tenths of the capital. A capital reaches a bound with a probability of at most alpha or beta if
    elo0 or elo1 is true, without a condition on the distribution (Ville 1939); the first capital
    starts with 1 - beta and the second with 1 - alpha, as the bounds are those of Wald. The
    deviations by which normalized Elo is measured are those of the pairs before.
    """
    from_half = np.array([raw, scores]) - 0.5
    before = np.arange(from_half.shape[1])
    squares = np.cumsum(from_half**2, axis=1) - from_half**2
    sums = np.cumsum(from_half[0]) - from_half[0]
    # As if one more pair had the largest deviation with luck: no variance is 0.
    raw_variance = (0.25 + squares[0] - sums**2 / np.maximum(before, 1)) / (before + 1)
    variance = (0.25 + squares[1]) / (before + 1)
    unit = np.sqrt(raw_variance) if test.model == "normalized" else 1.0
    low, high = (_distance_of(elo, test.model) * unit for elo in (test.elo0, test.elo1))
    bets = (high - low) / variance
    evidence = np.zeros(len(before))
    for sign, end, error in ((1, low, test.beta), (-1, high, test.alpha)):
        most = _MOST_BET_WITHOUT_LUCK / np.maximum(1 + sign * end / 1.5, 0.1)
        factors = 1 + np.minimum(bets, most) * sign * (from_half[1] - end)
        capital = math.log(1 - error) + np.cumsum(np.log(factors))
        evidence += sign * np.maximum(capital, 0.0)
    return [float(each) for each in evidence]


def _distance_of(elo: float, model: str) -> float:
    """Return the distance of a mean from 1/2; in the normalized model, in deviations of a pair."""
    if model == "logistic":
        return 1 / (1 + 10 ** (-elo / 400)) - 0.5
    return elo * math.sqrt(GAMES) / NELO_PER_DEVIATION


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


# Evidence by betting that a player is stronger than another, valid whenever it is looked at. A
# gambler starts with 1 and bets on each pair of matches that the candidate scores more than half of
# its points. If the candidate is not stronger, the gambler's capital e is a supermartingale, so
# that it ever reaches 1/alpha with a probability of at most alpha (Ville 1939). This holds for any
# number of pairs, for any reason to stop or to go on, and without an approximation. The bets follow
# Waudby-Smith and Ramdas 2023, *Estimating means of bounded random variables by betting*, JRSS B
# 86:1-27: e is the product of 1 + b (s - 1/2) over the scores s of pairs, from 0 to 1, with b known
# before the pair. Several candidates share alpha, also those of earlier tests against the same
# player: see `level_of`.
#
# A score without luck has the same expectation as the score, and is at least -1. So e remains a
# supermartingale without clipping scores, which would change their expectation, if b is less than
# 2/3: then no factor is negative.

#: The last pairs that decide whether the next one is bet on, and how many of them may have had the
#: moves of earlier pairs: of deterministic players, pairs from a used opening are no evidence.
_RECENT, _MOST_REPEATED = 8, 1
#: Maximum bets on scores with and without luck: a pair costs at most 1/2 and 9/10 of the capital.
_MOST_BET, _MOST_BET_WITHOUT_LUCK = 1.0, 0.6
#: After this many pairs in a row without a bet, a candidate is exhausted.
EXHAUSTED_AFTER = 64

State = Literal["open", "stronger", "futile", "exhausted"]


class EProcess:
    """The evidence that a candidate is stronger, after each of its pairs in schedule order."""

    def __init__(self, terms: Betting, level: float) -> None:
        """`level` is the probability with which a candidate that is not stronger may succeed."""
        self.bound = -math.log(level)
        #: The natural logarithm of the capital after each pair that was bet on.
        self.curve: list[float] = []
        self.pairs = 0
        self.state: State = "open"
        self._most_bet = _MOST_BET_WITHOUT_LUCK if terms.without_luck else _MOST_BET
        self._goal = terms.elo1 * math.sqrt(GAMES) / NELO_PER_DEVIATION
        self._futile_below = math.log(terms.beta / (1 - terms.alpha))
        self._with_luck, self._scores = _Deviations(), _Deviations()
        self._repeated: deque[bool] = deque(maxlen=_RECENT)
        self._without_bet = 0

    @property
    def log_e(self) -> float:
        """The logarithm of the capital: the candidate is stronger when it reaches `bound`."""
        return self.curve[-1] if self.curve else 0.0

    @property
    def effect(self) -> float:
        """The mean of the scores above 1/2, in standard deviations of a pair."""
        return self._scores.mean / math.sqrt(self._scores.variance)

    def add(
        self, score: float, *, repeated: bool = False, without_luck: float | None = None
    ) -> None:
        """Note the score of a pair, from 0 to 1, and its score without luck, from -1 to 2.

        `repeated`: with the moves of earlier pairs.
        """
        if self.state == "stronger":
            return
        counted = score if without_luck is None else without_luck
        if sum(self._repeated) <= _MOST_REPEATED:
            bet = min(self._most_bet, self._expected / self._scores.variance)
            self.curve.append(self.log_e + math.log1p(bet * (counted - 0.5)))
            self._without_bet = 0
        else:
            self._without_bet += 1
        self._repeated.append(repeated)
        self.pairs += 1
        self._with_luck.add(score - 0.5)
        self._scores.add(counted - 0.5)
        if self.log_e >= self.bound:
            self.state = "stronger"
        elif self.state == "open" and self._llr() <= self._futile_below:
            self.state = "futile"
        elif self.state == "open" and self._without_bet >= EXHAUSTED_AFTER:
            self.state = "exhausted"

    @property
    def _expected(self) -> float:
        """The mean of the scores above 1/2 at `elo1`, whose unit is deviations with luck."""
        return self._goal * math.sqrt(self._with_luck.variance)

    def _llr(self) -> float:
        """The log-likelihood ratio of `elo1` against 0, by the normal approximation."""
        expected, scores = self._expected, self._scores
        return self.pairs * expected * (2 * scores.mean - expected) / (2 * scores.variance)


@dataclass
class _Deviations:
    """The deviations of scores from 1/2."""

    count: int = 0
    sum: float = 0.0
    squares: float = 0.0

    def add(self, deviation: float) -> None:
        self.count += 1
        self.sum += deviation
        self.squares += deviation**2

    @property
    def mean(self) -> float:
        return self.sum / self.count if self.count else 0.0

    @property
    def variance(self) -> float:
        """The variance of a score, as if one more pair had the largest deviation with luck."""
        spread = self.squares - self.count * self.mean**2
        return (0.25 + max(0.0, spread)) / (self.count + 1)


class Race:
    """The evidence of one or more candidates, numbered from 1, against one player.

    It is over when one is stronger, or none is open.
    """

    def __init__(self, terms: Betting, candidates: int) -> None:
        level = level_of(terms, candidates)
        self.processes = {one + 1: EProcess(terms, level) for one in range(candidates)}
        self.winner: int | None = None

    def add(
        self,
        candidate: int,
        score: float,
        *,
        repeated: bool = False,
        without_luck: float | None = None,
    ) -> None:
        """Note the score of a candidate's pair as in `EProcess.add`, unless the race is won."""
        if self.winner is None:
            process = self.processes[candidate]
            process.add(score, repeated=repeated, without_luck=without_luck)
            if process.state == "stronger":
                self.winner = candidate

    def add_pair(
        self, pair: Pair, score: PairScore, *, repeated: bool, luck: Mapping[Key, float]
    ) -> None:
        """Note a pair of entrant 0 and a candidate, which has its entrant's number.

        `luck` is as in `shares_without_luck`, empty for a test with luck.
        """
        candidate, played = max(pair.entrants), [(pair, score)]
        share = scores_of(candidate, played)[0].total / GAMES
        without = shares_without_luck(candidate, played, luck)
        self.add(candidate, share, repeated=repeated, without_luck=without[0] if without else None)

    @property
    def pairs(self) -> int:
        """The number of pairs of all candidates."""
        return sum(each.pairs for each in self.processes.values())

    @property
    def is_over(self) -> bool:
        """Whether a candidate is stronger, or no candidate is open."""
        states = {each.state for each in self.processes.values()}
        return self.winner is not None or "open" not in states

    def order(self, seed: str) -> Sequence[int]:
        """Return the open candidates in the order of a draw, the one to play next first.

        Thompson sampling: each candidate draws an effect from the distribution that its pairs
        leave, and the largest comes first. The same seed gives the same draw.
        """
        rng = random.Random(seed)
        draws = {
            one: rng.gauss(each.effect, 1 / math.sqrt(each.pairs + 1))
            for one, each in self.processes.items()
        }
        if self.is_over:
            return []
        still = [one for one in draws if self.processes[one].state == "open"]
        return sorted(still, key=lambda one: -draws[one])


def level_of(terms: Betting, candidates: int) -> float:
    """Return the level at which each candidate of a race is tested.

    The j-th candidate against a player would have alpha / (j (j + 1)) by itself; the sum over all j
    is alpha. The candidates of a race share what they would have, in equal parts: with j the number
    of the first one and m candidates, each has alpha / (j (j + m)).
    """
    first = terms.tried + 1
    return terms.alpha / (first * (first + candidates))
