"""server.net.rating_updates: ratings from another thread, also when they cannot be computed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from playout.ratings.bradley_terry import Outcomes, RatingProblem
from playout.server.core.effects import RateLadder
from playout.server.net.rating_updates import LadderRatings
from support.threads import Loop

SOLVABLE = RatingProblem(2, {(0, 1): Outcomes(first=3, ties=1, second=2)}, ())
#: A result against version 7, which is not among the one version of the problem.
FAULTY = RatingProblem(1, {(0, 7): Outcomes(first=1, ties=0, second=0)}, ())


@pytest.fixture
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.stop()


def test_each_order_is_answered_with_its_ratings_or_with_none(loop: Loop) -> None:
    answers: list[tuple[str, bool]] = []
    ratings = LadderRatings(loop, lambda game, found: answers.append((game, bool(found))))
    for game, problem in (("nim", FAULTY), ("chess", SOLVABLE)):
        ratings.start(RateLadder(game, problem))
        loop.run_one()
    assert answers == [("nim", False), ("chess", True)]
