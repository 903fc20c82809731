"""server.net.ladder_ratings: ratings from another thread, also when they cannot be computed."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from server.core.effects import RateLadder
from server.ladder.ratings import RatingProblem
from server.net.ladder_ratings import LadderRatings
from server.tournament.ratings import Outcomes

SOLVABLE = RatingProblem(2, {(0, 1): Outcomes(first=3, ties=1, second=2)}, ())
#: It has a result of a version that there is not.
FAULTY = RatingProblem(1, {(0, 7): Outcomes(first=1, ties=0, second=0)}, ())


class QueueReactor:
    """Runs what threads want called in the thread that calls `run_one`."""

    def __init__(self) -> None:
        self._calls: queue.Queue[Callable[[], Any]] = queue.Queue()
        self.at_the_end: list[Callable[[], Any]] = []

    def callWhenRunning(self, call: Callable[[], Any]) -> None:
        call()

    def addSystemEventTrigger(self, phase: str, event: str, call: Callable[[], Any]) -> None:
        self.at_the_end.append(call)

    def callFromThread(self, call: Callable[..., Any], *args: Any) -> None:
        self._calls.put(lambda: call(*args))

    def run_one(self) -> None:
        self._calls.get(timeout=60)()


@pytest.fixture
def reactor() -> Iterator[QueueReactor]:
    reactor = QueueReactor()
    yield reactor
    for call in reactor.at_the_end:
        call()


def test_each_order_is_answered_with_its_ratings_or_with_none(reactor: QueueReactor) -> None:
    answers: list[tuple[str, bool]] = []
    ratings = LadderRatings(reactor, lambda game, found: answers.append((game, bool(found))))
    for game, problem in (("nim", FAULTY), ("chess", SOLVABLE)):
        ratings.start(RateLadder(game, problem))
        reactor.run_one()
    assert answers == [("nim", False), ("chess", True)]
