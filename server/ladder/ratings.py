"""Ratings of all versions on a ladder together, from all its matches.

The model is that of `server.tournament.ratings`. A version of an account is expected to be as
strong as the one before, give or take `STEP` Elo: this prior is part of the joint model, so that a
new version starts with the rating of the old one, and its own results soon outweigh it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from server.tournament import ratings
from server.tournament.ratings import OutcomeCounts, Ratings

#: The average rating.
AVERAGE: Final = 1500.0
#: The standard deviation, in Elo, of the difference between two versions of an account that follow
#: each other, before any match of the new one.
STEP: Final = 200.0


@dataclass(frozen=True)
class RatingProblem:
    """The results of versions 0, 1, ... `versions` - 1, to be rated.

    `successions`: places of a version and of the version of the same account before it.
    """

    versions: int
    counts: OutcomeCounts
    successions: tuple[tuple[int, int], ...]


def solve(problem: RatingProblem) -> Ratings:
    """Return the ratings, relative to their average; takes milliseconds, for hundreds seconds."""
    return ratings.rate(
        problem.versions, problem.counts, similar=problem.successions, similar_within=STEP
    )
