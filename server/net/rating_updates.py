"""Computes ratings in threads: those of ladders on demand, those of games as matches end.

The ratings of a game are computed soon after a match has ended, and then not again for at least
`PAUSE_S` seconds, and for 20 times the duration of the update, so that it takes 5 % of a core.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy.exc import SQLAlchemyError
from twisted.internet.threads import deferToThreadPool
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.python.threadpool import ThreadPool

from playout.games import NotReady
from playout.ratings.bradley_terry import Ratings, solve
from playout.server.core.effects import RateLadder
from playout.server.model.records import Record
from playout.server.storage.engine import first_line
from playout.server.storage.queries import Reader
from playout.server.storage.rating_keeper import RatingKeeper

_log = Logger(namespace="server")


class LadderRatings:
    """One thread, which ends when the reactor stops."""

    def __init__(self, reactor: Any, rated: Callable[[str, Ratings | None], None]) -> None:
        """`rated` is called with each game and its ratings; None if they cannot be computed."""
        self._reactor = reactor
        self._rated = rated
        self._pool = ThreadPool(0, 1, name="ladder")
        reactor.callWhenRunning(self._pool.start)
        reactor.addSystemEventTrigger("during", "shutdown", self._pool.stop)

    def start(self, order: RateLadder) -> None:
        """Compute the ratings of a ladder after those that were ordered before."""

        def failed(failure: Failure) -> None:
            _log.failure("cannot rate the ladder of {game}", failure, game=order.game)

        solved = deferToThreadPool(self._reactor, self._pool, solve, order.problem)
        solved.addErrback(failed)
        solved.addCallback(lambda ratings: self._rated(order.game, ratings))
        solved.addErrback(failed)


#: Minimum pause between two updates, in seconds and as a multiple of the last update's duration.
PAUSE_S, _PAUSE_TIMES = 1.0, 20.0
#: Maximum number of records that are stored at once: moves wait for them.
_MOST = 500


class RatingUpdates:
    """One thread, which ends when the reactor stops."""

    def __init__(self, url: str, reactor: Any, store: Callable[[Sequence[Record]], None]) -> None:
        """`store` is called with records to be stored. Raises StorageError."""
        self._reader = Reader(url)
        self._keeper = self._new_keeper()
        self._reactor = reactor
        self._store = store
        self._pool = ThreadPool(0, 1, name="ratings")
        self._due = self._working = self._stopping = False
        #: The reason of the last failure, empty after a success.
        self._fault = ""
        reactor.callWhenRunning(self._pool.start)
        reactor.addSystemEventTrigger("during", "shutdown", self._stop)
        reactor.callWhenRunning(self.matches_ended)

    def _new_keeper(self) -> RatingKeeper:
        return RatingKeeper(self._reader, lambda: self._stopping)

    def matches_ended(self) -> None:
        """Update the ratings when the pause after the last update is over."""
        self._due = True
        if not self._working:
            self._start()

    def _start(self) -> None:
        self._due, self._working = False, True
        began = time.monotonic()
        done = deferToThreadPool(self._reactor, self._pool, self._update)
        done.addCallbacks(self._succeeded, self._failed)
        done.addCallback(lambda _: self._pause(time.monotonic() - began))

    def _update(self) -> None:
        """Runs in the thread; closes its connection, as the file may be moved."""
        try:
            for records in self._keeper.updates():
                for first in range(0, len(records), _MOST):
                    if self._stopping:
                        return
                    self._reactor.callFromThread(self._store, records[first : first + _MOST])
        finally:
            self._reader.close()

    def _succeeded(self, _: None) -> None:
        self._fault = ""

    def _failed(self, failure: Failure) -> None:
        """Log a new reason of failure, and try again after the pause."""
        reason = first_line(failure.value or Exception())
        if failure.check(NotReady):
            pass  # the game of a tournament is being compiled
        elif reason != self._fault and failure.check(SQLAlchemyError):
            _log.warn("the ratings cannot be updated: {reason}", reason=reason)
        elif reason != self._fault:
            _log.failure("the ratings cannot be updated", failure)
        self._fault = reason
        self._keeper = self._new_keeper()
        self._due = True

    def _pause(self, took_s: float) -> None:
        self._reactor.callLater(max(PAUSE_S, _PAUSE_TIMES * took_s), self._resume)

    def _resume(self) -> None:
        self._working = False
        if self._due:
            self._start()

    def _stop(self) -> Any:
        self._stopping = True
        self._pool.stop()
        self._reader.close()
