"""Checks of the workers that join a cluster, which are made while others play."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from playout.cluster.connection import DaskConnection


class Checked(Protocol):
    """A worker that was checked."""

    @property
    def address(self) -> str:
        """The address at which Dask finds it."""


C = TypeVar("C", bound=Checked)


@dataclass
class _Check(Generic[C]):
    """The check of a worker; `is_lost` if the worker was lost since it began."""

    worker: str
    result: Future[list[C]]
    is_lost: bool = False


class WorkerChecks(Generic[C]):
    """The checks that have not ended, one for each worker: none waits for another.

    A worker that has not answered is checked again until it does, or is lost.
    """

    def __init__(
        self,
        connection: DaskConnection,
        check: Callable[[Sequence[str]], list[C]],
        changed: Callable[[], object] = lambda: None,
    ) -> None:
        """`check` gets the address of one worker; `changed` is called as a check ends."""
        self._connection = connection
        self._check = check
        self._changed = changed
        self._running: list[_Check[C]] = []
        #: The workers that were named as silent, and still are.
        self._named: set[str] = set()

    def start(self, workers: Iterable[str]) -> None:
        """Check workers that have come."""
        for worker in workers:
            result = self._connection.ask_later(self._check, [worker])
            self._running.append(_Check(worker, result))
            result.add_done_callback(lambda _: self._changed())

    def start_silent(self, workers: Iterable[str]) -> None:
        """Check those of these workers again that have not answered, and were named for it."""
        silent = [each for each in workers if self._connection.is_silent(each)]
        self._named.update(silent)
        self.start(silent)

    def worker_lost(self, address: str) -> None:
        """Forget the checks of a worker that was lost; one at its address may come later."""
        self._named.discard(address)
        for each in self._running:
            each.is_lost |= each.worker == address

    def clear(self) -> None:
        """Forget all checks: the connection was lost."""
        self._running = []
        self._named.clear()

    def ended(self) -> list[C]:
        """The workers whose checks have ended since the last call, but for those that were lost.

        One that does not answer is among them once.
        """
        done = [each for each in self._running if each.result.done()]
        self._running = [each for each in self._running if each not in done]
        # A check that fails has lost its connection: that is made again, with new checks.
        good = [each.result for each in done if not each.is_lost and not _has_failed(each.result)]
        return [worker for each in good for worker in each.result() if self._is_new(worker)]

    def _is_new(self, worker: C) -> bool:
        """Whether it has not been named before; check it again if it is silent."""
        address = worker.address
        if not self._connection.is_silent(address):
            self._named.discard(address)
            return True
        self.start([address])
        is_new = address not in self._named
        self._named.add(address)
        return is_new


def _has_failed(result: Future[list[C]]) -> bool:
    return result.cancelled() or result.exception() is not None
