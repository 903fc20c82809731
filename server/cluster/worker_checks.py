"""Checks of the workers that join a cluster, which are made while others play."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Generic, Protocol, TypeVar

from server.cluster.connection import DaskConnection


class Checked(Protocol):
    """A worker that was checked."""

    @property
    def address(self) -> str:
        """The address at which Dask finds it."""


C = TypeVar("C", bound=Checked)


class WorkerChecks(Generic[C]):
    """The checks that have not ended. Each waits for its own workers, and for no others."""

    def __init__(
        self,
        connection: DaskConnection,
        check: Callable[[Sequence[str] | None], list[C]],
        changed: Callable[[], None] | None = None,
    ) -> None:
        """`check` gets addresses, None for all workers; `changed` is called as a check ends."""
        self._connection = connection
        self._check = check
        self._changed = changed
        self._running: list[Future[list[C]]] = []
        #: Workers that were lost since the checks began.
        self._gone: set[str] = set()

    def start(self, workers: Sequence[str] | None) -> None:
        """Check workers that have come, None for all."""
        self._gone.difference_update(workers or ())
        check = self._connection.later(self._check, workers)
        self._running.append(check)
        if changed := self._changed:
            check.add_done_callback(lambda _: changed())

    def worker_lost(self, address: str) -> None:
        """Leave a worker out of the checks that run: it was lost."""
        self._gone.add(address)

    def ended(self) -> list[C]:
        """The workers whose checks have ended since the last call, but for those that were lost."""
        done = [each for each in self._running if each.done()]
        self._running = [each for each in self._running if each not in done]
        # A check that fails has lost its connection: that is made again, with new checks.
        good = [each for each in done if not each.cancelled() and not each.exception()]
        found = [worker for each in good for worker in each.result()]
        here = [each for each in found if each.address not in self._gone]
        if not self._running:
            self._gone.clear()
        return here
