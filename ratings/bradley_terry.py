"""Ratings of many players at once, from all their matches together.

The model is that of Bradley and Terry, with ties by Davidson (1970, J. Am. Stat. Assoc. 65:317-328)
and the advantage of the first move by Davidson & Beaver (1977, Biometrics 33:693-702). With d the
rating of the first mover, less that of the second, plus the advantage, the probabilities that the
first wins, ties or loses are in proportion to exp(d/2), nu and exp(-d/2).

Rao and Kupper's ties, which Bayeselo uses, would do as well. With Davidson's a tie is worth half a
win and half a loss, so that only a player's points decide, as in the table of standings. And the
logarithm of the likelihood has one maximum, which Newton's method finds.

The prior: ratings are distributed normally with a deviation of 1000 Elo, which weighs less than one
match; and two imaginary equals have shared half a win, half a tie and half a loss. With it, players
that won everything, groups that did not meet and players without matches have ratings, too, with
wide error bars. On a ladder, the prior also expects a version of an account to be as strong as the
one before, with a standard deviation of `STEP` Elo: a new version starts with the rating of the old
one, and its own results soon outweigh it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from playout.ratings.evidence import Z
from playout.ratings.pairs import Pair, PairScore

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.floating[Any]]
#: Elo points in one unit of the natural logarithm of the odds.
ELO = 400 / math.log(10)
#: The deviation of ratings in the prior, in Elo.
SPREAD = 1000.0
#: The results of two imaginary equals: wins of the first mover, ties, wins of the second.
IMAGINED = (0.5, 0.5, 0.5)
#: The average rating on a ladder.
AVERAGE: Final = 1500.0
#: The standard deviation, in Elo, of the difference between two versions of an account that follow
#: each other, before any match of the new one.
STEP: Final = 200.0
#: Steps in which ratings without luck and the variance of points without luck are fitted in turns.
_VARIANCE_STEPS: Final = 4
#: Newton's method ends at this change of the logarithms of odds, or after this many steps.
_CHANGE, _STEPS = 1e-9, 100
#: The relative rounding error of the logarithm of the likelihood.
_ROUNDING = 1e-12
#: The precision of two values whose difference has a variance of 1.
_DIFFERENCE = np.array([[1.0, -1.0], [-1.0, 1.0]])


class Outcomes(NamedTuple):
    """Results of the matches of two players in which the same one had the first move."""

    first: int = 0
    ties: int = 0
    second: int = 0


#: The results for each (first mover, second mover); the fit of points without luck weights them.
OutcomeCounts = Mapping[tuple[int, int], Outcomes | tuple[float, float, float]]


@dataclass(frozen=True)
class Ratings:
    """Ratings in Elo: near equality, a difference d means a score of 1 / (1 + 10^(-d/400)).

    `elo` and `error`, the 95 % half-width, of each player are relative to the anchor; `los[i][j]`
    is the probability that i is stronger than j. `first_move` is the value of the first move.
    `tie_share` is the share of ties between equals, without advantage, and `tie` the odds of that
    against a win of one of the two as Elo; None if nothing was tied. `without_luck` has the ratings
    from points without luck, None if the luck of no match is known.
    """

    elo: tuple[float, ...]
    error: tuple[float, ...]
    los: tuple[tuple[float, ...], ...]
    first_move: float
    first_move_error: float
    tie: float | None
    tie_share: float
    without_luck: Ratings | None = None


class PointsWithoutLuck(NamedTuple):
    """Sums over some matches: of the first mover's points less its luck, and of their squares."""

    matches: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, points: float) -> PointsWithoutLuck:
        """Return the sums with those of one more match."""
        return PointsWithoutLuck(
            self.matches + 1, self.total + points, self.squares + points * points
        )


#: The points without luck for each (first mover, second mover).
MeasuredPoints = Mapping[tuple[int, int], PointsWithoutLuck]


def count_outcomes(played: Iterable[tuple[Pair, PairScore]]) -> dict[tuple[int, int], Outcomes]:
    """Count the results of the matches of pairs for each first and second mover."""
    counts: dict[tuple[int, int], list[int]] = {}
    for pair, score in played:
        one, other = pair.entrants
        for movers, first_mover in (((one, other), score.first), ((other, one), 1 - score.second)):
            counts.setdefault(movers, [0, 0, 0])[round(2 - 2 * first_mover)] += 1
    return {movers: Outcomes(*each) for movers, each in counts.items()}


def rate(
    players: int,
    counts: OutcomeCounts,
    anchor: int | None = None,
    *,
    similar: Sequence[tuple[int, int]] = (),
    similar_within: float = SPREAD,
) -> Ratings:
    """Rate players 0, 1, ... `players` - 1.

    The prior expects each two players in `similar` to be equally strong, with a standard deviation
    of their difference of `similar_within` Elo.

    `anchor` is the player whose rating is 0, without error; None for the average of all. Error bars
    come from the curvature of the likelihood at its maximum. They treat matches as independent; the
    matches of a pair share their opening, which mostly makes the bars a little too wide.
    """
    model = _Model(players, counts, _precision(players, similar, similar_within))
    found = _maximum(model)
    covariance = np.linalg.inv(model.curvature(found))
    share = model.tie_share(found)
    scale = ELO * (1 - share)
    weights = np.full(players, 1 / players) if anchor is None else np.eye(players)[anchor]
    relative = np.eye(players) - weights
    ratings = relative @ found[:players]
    # The change of ratings in Elo with each parameter. More ties make the scale shorter.
    change = np.zeros((players + 1, len(found)))
    change[:players, :players] = relative
    change[players, players] = 1
    if model.tied:
        change[:players, -1] = -share * ratings
        change[players, -1] = -share * found[players]
    variance = np.sum(change @ covariance * change, axis=1)
    error = Z * scale * np.sqrt(variance.clip(0))
    return Ratings(
        elo=_tuple(scale * ratings),
        error=_tuple(error[:players]),
        los=tuple(map(tuple, _superiority(ratings, covariance).tolist())),
        first_move=float(scale * found[players]),
        first_move_error=float(error[players]),
        tie=float(ELO * found[-1]) if model.tied else None,
        tie_share=share,
    )


def rate_without_luck(
    players: int,
    measured: MeasuredPoints,
    *,
    similar: Sequence[tuple[int, int]] = (),
    similar_within: float = SPREAD,
) -> Ratings:
    """Rate players 0, 1, ... `players` - 1 relative to their average, by points without luck.

    The arguments are those of `rate`. The variance of points is the same multiple of that of
    results without ties in all matches. It is estimated as if one more match for each fitted
    number had the variance of a result, so that error bars after few matches are too wide rather
    than too narrow.
    """
    ratio = 1.0
    for _ in range(_VARIANCE_STEPS):
        counts = {
            movers: (each.total / ratio, 0.0, (each.matches - each.total) / ratio)
            for movers, each in measured.items()
        }
        found = rate(players, counts, similar=similar, similar_within=similar_within)
        squares = usual = (players + 1) / 4
        for (one, other), each in measured.items():
            ahead = found.elo[one] - found.elo[other] + found.first_move
            share = 1 / (1 + 10 ** (-ahead / 400))
            squares += each.squares - share * (2 * each.total - each.matches * share)
            usual += each.matches * share * (1 - share)
        ratio = squares / usual
    return found


class _Model:
    """The logarithm of the likelihood and of the prior.

    Its parameters, as logarithms of odds: the players' ratings, the advantage of the first move,
    and ln nu. Without any tie nu is 0, and its logarithm is not a parameter.
    """

    def __init__(self, players: int, counts: OutcomeCounts, precision: Floats) -> None:
        """`precision`: the inverse covariance of the ratings in the prior."""
        self._players = players
        rows = [*counts.values(), IMAGINED]
        self.tied = any(ties for _, ties, _ in counts.values())
        self._counts = np.array(rows, dtype=np.float64).T
        if not self.tied:
            self._counts[1] = 0
        self._matches = self._counts.sum(axis=0)
        self._design = _design(players, counts)
        size = players + 1 + self.tied
        self._prior = np.zeros((size, size))
        self._prior[:players, :players] = precision

    def start(self) -> Floats:
        """The parameters of equal players without an advantage of the first move."""
        return np.zeros(len(self._prior))

    def tie_share(self, at: Floats) -> float:
        """The share of ties in matches between equals."""
        return 1 / (1 + 2 * math.exp(-at[-1])) if self.tied else 0.0

    def height(self, at: Floats) -> float:
        """The logarithm of the likelihood and of the prior."""
        from scipy.special import logsumexp

        logs = self._log_odds(at)
        seen = self._counts != 0
        likelihood = np.sum(self._counts[seen] * (logs - logsumexp(logs, axis=0))[seen])
        return float(likelihood - at @ self._prior @ at / 2)

    def slope(self, at: Floats) -> Floats:
        """The derivatives of the logarithm: points and ties beyond the expected ones."""
        first, tie, second = self._counts - self._matches * self._shares(at)
        ties = [tie.sum()] if self.tied else []
        return np.append(self._design.T @ (first - second) / 2, ties) - self._prior @ at

    def curvature(self, at: Floats) -> Floats:
        """The negative second derivatives of the logarithm: the information on the parameters."""
        first, tie, second = self._shares(at)
        lead = (first - second) / 2
        known = self._design.T @ (
            (self._matches * ((first + second) / 4 - lead**2))[:, np.newaxis] * self._design
        )
        matrix = self._prior.copy()
        size = self._players + 1
        matrix[:size, :size] += known.toarray()
        if self.tied:
            matrix[-1, :size] = matrix[:size, -1] = self._design.T @ (-self._matches * lead * tie)
            matrix[-1, -1] = np.sum(self._matches * tie * (1 - tie))
        return matrix

    def _log_odds(self, at: Floats) -> Floats:
        ahead = self._design @ at[: self._players + 1]
        tie = at[-1] if self.tied else -np.inf
        return np.stack([ahead / 2, np.full(len(ahead), tie), -ahead / 2])

    def _shares(self, at: Floats) -> Floats:
        from scipy.special import softmax

        shares: Floats = softmax(self._log_odds(at), axis=0)
        return shares


def _design(players: int, counts: OutcomeCounts) -> csr_array:
    """The design matrix: times ratings and advantage, it gives the lead of the first mover.

    It has a row for each entry of the counts and, last, one for the imaginary equals.
    """
    from scipy.sparse import csr_array  # the import of scipy takes an eighth of that of a server

    movers = np.array(list(counts), dtype=np.int64).reshape(-1, 2)
    entries = np.arange(len(movers))
    every = np.arange(len(movers) + 1)
    rows = np.concatenate([entries, entries, every])
    columns = np.concatenate([movers[:, 0], movers[:, 1], np.full(len(every), players)])
    values = np.concatenate([np.ones(len(movers)), -np.ones(len(movers)), np.ones(len(every))])
    return csr_array((values, (rows, columns)), shape=(len(every), players + 1))


def _precision(players: int, similar: Sequence[tuple[int, int]], within: float) -> Floats:
    """The inverse covariance of the ratings in the prior."""
    matrix = np.eye(players) * (ELO / SPREAD) ** 2
    for one, other in similar:
        matrix[np.ix_((one, other), (one, other))] += (ELO / within) ** 2 * _DIFFERENCE
    return matrix


def _maximum(model: _Model) -> Floats:
    """The parameters at the maximum, by Newton's method; a step that would lead down is halved."""
    at = model.start()
    for _ in range(_STEPS):
        step = np.linalg.solve(model.curvature(at), model.slope(at))
        height = model.height(at)
        while model.height(at + step) < height - _ROUNDING * abs(height):
            step /= 2
        at = at + step
        if np.max(np.abs(step)) < _CHANGE:
            break
    return at


def _superiority(ratings: Floats, covariance: Floats) -> Floats:
    """For each two players, the probability that the first is stronger; 1/2 on the diagonal."""
    from scipy.special import ndtr

    players = len(ratings)
    within = covariance[:players, :players]
    each = np.diag(within)
    variance = each[:, np.newaxis] + each - 2 * within
    np.fill_diagonal(variance, 1)
    ahead: Floats = ndtr((ratings[:, np.newaxis] - ratings) / np.sqrt(variance))
    return ahead


def _tuple(numbers: Floats) -> tuple[float, ...]:
    return tuple(numbers.tolist())


@dataclass(frozen=True)
class RatingProblem:
    """The results of versions 0, 1, ... `versions` - 1, to be rated.

    `successions`: pairs of a version and the version of the same account before it. `measured`: the
    points of matches whose luck is known.
    """

    versions: int
    counts: OutcomeCounts
    successions: tuple[tuple[int, int], ...]
    measured: MeasuredPoints = field(default_factory=dict)


def solve(problem: RatingProblem) -> Ratings:
    """Return the ratings relative to their average: in milliseconds, for hundreds in seconds."""
    players, similar = problem.versions, problem.successions
    found = rate(players, problem.counts, similar=similar, similar_within=STEP)
    if not problem.measured:
        return found
    without_luck = rate_without_luck(
        players, problem.measured, similar=similar, similar_within=STEP
    )
    return replace(found, without_luck=without_luck)


# A new version of a player against the one before: the difference, and how certain it is.

#: The least likelihood of superiority at which a version counts as better; at 1 less this, it
#: counts as worse.
SURE: Final = 0.95
#: More matches than these are not forecast.
MOST_NEEDED: Final = 100_000

_NORMAL = NormalDist()


class VersionComparison(Struct, frozen=True, kw_only=True):
    """A version of a player against the one before it.

    `difference` is in Elo, with `error` as half of its 95 % interval. `superiority` is the
    likelihood that the new version is stronger. `needed` is the approximate number of matches that
    the new version still has to play until that is certain, if the difference stays the same: 0 if
    it is certain now, None if matches of the new version alone are hardly enough.
    """

    name: str
    version: str
    before: str
    difference: float
    error: float
    superiority: float
    needed: int | None


def error_of_its_own(error: float, versions: int) -> float:
    """Return the error of a rating without the part that it shares with the average.

    Ratings are relative to the average of all versions, to which each one contributes: with two
    versions, the error of a rating is half that of their difference.
    """
    return error / (1 - 1 / versions)


def difference_error(difference: float, superiority: float, errors: tuple[float, float]) -> float:
    """Return half of the 95 % interval of a difference of two ratings, in Elo.

    It follows from the likelihood of superiority, which takes the correlation of the two ratings
    into account; for near equals, from their own `errors`.
    """
    deviations = _NORMAL.inv_cdf(min(max(superiority, 1e-12), 1 - 1e-12))
    if abs(deviations) < 0.05:
        return math.hypot(*errors)
    return Z * difference / deviations


def matches_needed(
    difference: float, error: float, own_error: float, tie_share: float
) -> int | None:
    """Return how many more matches make the sign of a difference certain; None for too many.

    `error` is half of the 95 % interval of the difference, and `own_error` that of the version that
    plays. One match against an equal measures the rating with a variance of 4 ELO² (1 - ties). The
    uncertainty of the other version stays the same.
    """
    sure = _NORMAL.inv_cdf(SURE)
    variance, own = (error / Z) ** 2, (own_error / Z) ** 2
    allowed = (difference / sure) ** 2
    if variance <= allowed:
        return 0
    goal = allowed - max(0.0, variance - own)
    if goal <= 0 or own <= 0:
        return None
    needed = math.ceil((1 / goal - 1 / own) * 4 * ELO**2 * (1 - tie_share))
    return needed if needed <= MOST_NEEDED else None
