"""A new version of a player against the one before: the difference, and how certain it is."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final

from msgspec import Struct

from playout.ratings.bradley_terry import ELO
from playout.ratings.evidence import Z

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
