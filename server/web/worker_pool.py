"""What takes long is done in threads, and what came of it is good for a while."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

from twisted.internet.defer import Deferred, DeferredLock, fail, succeed
from twisted.internet.threads import deferToThreadPool
from twisted.python.threadpool import ThreadPool
from twisted.web import http

from server.web.http import HttpError

T = TypeVar("T")

#: One of them computes, the others do what is done at once.
_THREADS = 3
#: What waits for a thread, at most: who asks for more is told to come back.
MOST_WAITING = 100
#: What was computed is good for so long; and for so many times what it took.
_GOOD_S, _GOOD_TIMES = 5.0, 10.0
#: Of what was computed, that which was computed longest ago is forgotten.
_MOST_KNOWN = 64


class WorkUnavailable(HttpError):
    """It cannot be had at the moment: what to tell who asks."""

    def __init__(self, text: str) -> None:
        super().__init__(http.SERVICE_UNAVAILABLE, text)


@dataclass
class _Known:
    """Something that was computed, and until when it need not be looked at again."""

    value: Any
    until: float


class WorkerPool:
    """A few threads, which end with the reactor."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._pool = ThreadPool(0, _THREADS, name="aside")
        self._waiting = 0
        self._computing = DeferredLock()
        #: Changed by one computation at a time.
        self._known: OrderedDict[Hashable, _Known] = OrderedDict()
        reactor.callWhenRunning(self._pool.start)
        reactor.addSystemEventTrigger("during", "shutdown", self._pool.stop)

    def do(self, work: Callable[[], T]) -> Deferred[T]:
        """Do something in a thread. Fails with Unavailable when there is too much to do."""
        return self._asked(lambda: self._in_thread(work))

    def compute(self, key: Hashable, compute: Callable[[Any], T | None]) -> Deferred[T | None]:
        """What takes long: one at a time, and again only after a while.

        `compute` is given what it returned the last time, or None; None is not remembered. Fails as
        `do`.
        """
        known = self._known.get(key)
        if known and time.monotonic() < known.until:
            return succeed(known.value)
        renewed = partial(self._renewed, key, compute)
        return self._asked(lambda: self._computing.run(self._in_thread, renewed))

    def _asked(self, ask: Callable[[], Deferred[T]]) -> Deferred[T]:
        if self._waiting >= MOST_WAITING:
            return fail(
                WorkUnavailable("too much is asked for at the moment; try again in a while")
            )
        self._waiting += 1
        return ask().addBoth(self._answered)

    def _answered(self, result: T) -> T:
        self._waiting -= 1
        return result

    def _in_thread(self, work: Callable[[], T]) -> Deferred[T]:
        return deferToThreadPool(self._reactor, self._pool, work)

    def _renewed(self, key: Hashable, compute: Callable[[Any], T | None]) -> T | None:
        known, begun = self._known.get(key), time.monotonic()
        if known and begun < known.until:  # another has been first
            return cast(T, known.value)
        value = compute(known.value if known else None)
        if value is not None:
            ended = time.monotonic()
            good_s = max(_GOOD_S, _GOOD_TIMES * (ended - begun))
            self._known[key] = _Known(value, ended + good_s)
            self._known.move_to_end(key)
            if len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
        return value
