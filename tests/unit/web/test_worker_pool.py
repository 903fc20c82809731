"""server.web.worker_pool: a lock for any number of waiters."""

from __future__ import annotations

from twisted.internet.defer import Deferred

from playout.server.web.worker_pool import IterativeLock


def test_a_thousand_waiters_get_the_lock_in_their_order_and_one_of_them_keeps_it() -> None:
    lock, first, later = IterativeLock(), Deferred[None](), Deferred[None]()
    got: list[int] = []

    async def take(number: int) -> None:
        async with lock:
            got.append(number)
            if number == 0:
                await first
            elif number == 500:
                await later

    taken = [Deferred.fromCoroutine(take(number)) for number in range(1000)]
    first.callback(None)
    assert got == list(range(501))
    later.callback(None)
    assert got == list(range(1000))
    assert all(each.called for each in taken)
    assert not lock.locked
