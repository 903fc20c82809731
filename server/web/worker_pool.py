"""A thread pool for slow work, with an expiring cache of computed values."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, TypeVar, cast

from twisted.internet.defer import Deferred, DeferredLock, fail, succeed
from twisted.internet.threads import deferToThreadPool
from twisted.python.threadpool import ThreadPool
from twisted.web import http

from playout.server.web.http import HttpError

T = TypeVar("T")

#: At most one thread computes cached values; the others do short work, such as queries.
_THREADS = 3
#: Maximum number of jobs that may be queued or running; further ones fail with WorkUnavailable.
MAX_WAITING = 100
#: Validity of a cached value in seconds, and as a multiple of the computation's duration.
_VALID_S, _VALID_TIMES = 1.0, 10.0
#: Maximum number of cached values; the oldest one is dropped.
_MAX_CACHED = 64


class WorkUnavailable(HttpError):
    """The work cannot be done at present: status 503, with a text for people."""

    def __init__(self, text: str) -> None:
        super().__init__(http.SERVICE_UNAVAILABLE, text)


class IterativeLock(DeferredLock):
    """A lock that its waiters get in a loop: those of DeferredLock get it within each other.

    More than a hundred that find a cached value exceeded the limit of recursion, after which nobody
    got the lock any more.
    """

    _is_passed_on = False

    def release(self: Self) -> None:
        """Release the lock, and pass it on to waiters until one keeps it."""
        self.locked = False
        if self._is_passed_on:
            return
        self._is_passed_on = True
        while self.waiting and not self.locked:
            self.locked = True
            self.waiting.pop(0).callback(self)
        self._is_passed_on = False


@dataclass
class _CacheEntry:
    """A computed value, and the time.monotonic() at which it expires."""

    value: Any
    expires_at: float


class WorkerPool:
    """Three threads, which end when the reactor stops."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._pool = ThreadPool(0, _THREADS, name="web")
        self._waiting = 0
        self._computing = IterativeLock()
        #: Changed only under the lock of `_computing`.
        self._cache: OrderedDict[Hashable, _CacheEntry] = OrderedDict()
        reactor.callWhenRunning(self._pool.start)
        reactor.addSystemEventTrigger("during", "shutdown", self._pool.stop)

    def run(self, work: Callable[[], T]) -> Deferred[T]:
        """Call `work` in a thread. Fails with WorkUnavailable if too many jobs are waiting."""
        return self._counted(lambda: self._in_thread(work))

    def compute(self, key: Hashable, compute: Callable[[Any], T | None]) -> Deferred[T | None]:
        """The cached value of `key`; an expired one is computed in a thread, one at a time.

        `compute` receives the expired value, or None, and returns the new one; None is not cached.
        Fails as `run` does.
        """
        entry = self._cache.get(key)
        if entry and time.monotonic() < entry.expires_at:
            return succeed(entry.value)
        renew = partial(self._renew, key, compute)
        return self._counted(lambda: self._computing.run(self._in_thread, renew))

    def _counted(self, start: Callable[[], Deferred[T]]) -> Deferred[T]:
        if self._waiting >= MAX_WAITING:
            return fail(WorkUnavailable("the server is overloaded; try again in a few seconds"))
        self._waiting += 1
        return start().addBoth(self._finished)

    def _finished(self, result: T) -> T:
        self._waiting -= 1
        return result

    def _in_thread(self, work: Callable[[], T]) -> Deferred[T]:
        return deferToThreadPool(self._reactor, self._pool, work)

    def _renew(self, key: Hashable, compute: Callable[[Any], T | None]) -> T | None:
        entry, began = self._cache.get(key), time.monotonic()
        if entry and began < entry.expires_at:  # computed while this call waited for the lock
            return cast(T, entry.value)
        value = compute(entry.value if entry else None)
        if value is not None:
            ended = time.monotonic()
            valid_s = max(_VALID_S, _VALID_TIMES * (ended - began))
            self._cache[key] = _CacheEntry(value, ended + valid_s)
            self._cache.move_to_end(key)
            if len(self._cache) > _MAX_CACHED:
                self._cache.popitem(last=False)
        return value
