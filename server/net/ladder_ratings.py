"""Computes the ratings of ladders in a thread, so that matches go on meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.threads import deferToThreadPool
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.python.threadpool import ThreadPool

from server.core.effects import RateLadder
from server.ladder.ratings import solve
from server.tournament.ratings import Ratings

_log = Logger(namespace="server")


class LadderRatings:
    """One thread, which ends when the reactor stops."""

    def __init__(self, reactor: Any, rated: Callable[[str, Ratings | None], None]) -> None:
        """`rated` is called with each game and its ratings, None if they cannot be computed."""
        self._reactor = reactor
        self._rated = rated
        self._pool = ThreadPool(0, 1, name="ladder")
        reactor.callWhenRunning(self._pool.start)
        reactor.addSystemEventTrigger("during", "shutdown", self._pool.stop)

    def start(self, order: RateLadder) -> None:
        """Compute the ratings of a ladder when those before are done."""

        def failed(failure: Failure) -> None:
            _log.failure("cannot rate the ladder of {game}", failure, game=order.game)

        solved = deferToThreadPool(self._reactor, self._pool, solve, order.problem)
        solved.addErrback(failed)
        solved.addCallback(lambda ratings: self._rated(order.game, ratings))
        solved.addErrback(failed)
