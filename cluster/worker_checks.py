"""Checks of workers: faults that any worker may have, and checks of those that join later.

The functions return what is wrong as sentences for people. `WorkerChecks` checks workers that join
a cluster, while the others play.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Generic, Protocol, TypeVar

from rich.console import Console
from rich.table import Table
from rich.text import Text

from playout.cluster import on_worker
from playout.cluster.connection import DaskConnection
from playout.protocol import versions

_NAME = "playout"


def other_software(
    connection: DaskConnection, workers: Iterable[str] | None = None, extras: str = "cluster"
) -> Mapping[str, str]:
    """Return the fault of the Python or the Playout of each worker by address, "" for none.

    It calls only functions of Python, which exist everywhere: those of Playout may be missing on a
    worker, or differ. `extras` of Playout are needed there. Raises OSError.
    """
    pythons = connection.run(platform.python_version, workers=workers)
    found = {address: _other_python(answer, extras) for address, answer in pythons.items()}
    same = [address for address, fault in found.items() if not fault]
    playouts = connection.run(version, _NAME, workers=same)
    return found | {address: _other_playout(answer, extras) for address, answer in playouts.items()}


def _other_python(answer: object, extras: str) -> str:
    mine = platform.python_version()
    if not isinstance(answer, str):
        return no_answer(answer, extras)
    if _minor(answer) == _minor(mine):
        return ""
    return f"it runs Python {answer}, and the runner {mine}: use the same minor version"


def _other_playout(answer: object, extras: str) -> str:
    mine = version(_NAME)
    if not isinstance(answer, str):
        return no_answer(answer, extras)
    if answer == mine:
        return ""
    return f"it has Playout {answer}, and the runner {mine}: install the same"


def other_sources(code: str) -> str:
    """Return the fault of a worker whose games and players have this digest; "" for none."""
    if code == versions.installed():
        return ""
    return (
        f"its Playout {version(_NAME)} has other games or players than the runner's: install the "
        "same sources and plugins"
    )


def not_offered(
    connection: DaskConnection, resource: str, workers: Iterable[str], extras: str = "cluster"
) -> Mapping[str, str]:
    """Have workers offer their cores as a resource; return the faults of those that did not.

    The faults are by address. `extras` of Playout are needed there. Raises OSError.
    """
    answers = connection.run(on_worker.offer, resource, workers=workers)
    return {
        address: no_answer(answer, extras)
        for address, answer in answers.items()
        if answer is not None
    }


def no_answer(answer: object, extras: str = "cluster") -> str:
    """Return the fault of a worker without a valid answer, which may be an error.

    `extras` of Playout are needed there.
    """
    is_missing = isinstance(answer, ModuleNotFoundError) and answer.name == _NAME
    if is_missing or isinstance(answer, PackageNotFoundError):
        return f'Playout is not installed there: pip install ".[{extras}]" in a checkout of Playout'
    if isinstance(answer, ImportError | AttributeError):
        return f"it has another version of Playout ({answer}): install the one of the runner"
    if isinstance(answer, TimeoutError):
        return f"it cannot be checked: {answer}"
    if isinstance(answer, Exception):
        return f"it cannot be checked: {type(answer).__name__}: {answer}"
    return "it cannot be checked: it is gone"


def fault_table(rows: Iterable[tuple[str, str, str]]) -> str:
    """Return faults as text, one a line; a row is a worker's address, its host, and the fault."""
    shown = Table("worker", "host", box=None, pad_edge=False)
    shown.add_column("fault", overflow="fold")
    for row in rows:
        shown.add_row(*map(Text, row))  # not markup: the names of extras are in brackets
    console = Console(width=200, color_system=None)
    with console.capture() as captured:
        console.print(shown)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _minor(python: str) -> list[str]:
    return python.split(".")[:2]


class Checked(Protocol):
    """A worker that was checked."""

    @property
    def address(self) -> str:
        """The address at which Dask finds it."""


C = TypeVar("C", bound=Checked)


@dataclass
class _Check(Generic[C]):
    """A running check of a worker; `is_lost` if the worker was lost meanwhile."""

    worker: str
    result: Future[list[C]]
    is_lost: bool = False


class WorkerChecks(Generic[C]):
    """The running checks, one for each worker: none waits for another.

    A worker that does not answer is checked again until it answers or is lost.
    """

    def __init__(
        self,
        connection: DaskConnection,
        check: Callable[[Sequence[str]], list[C]],
        changed: Callable[[], object] = lambda: None,
    ) -> None:
        """`check` gets the address of one worker; `changed` is called when a check ends."""
        self._connection = connection
        self._check = check
        self._changed = changed
        self._running: list[_Check[C]] = []
        #: The silent workers that `ended` has returned.
        self._named: set[str] = set()

    def start(self, workers: Iterable[str]) -> None:
        """Check workers that have joined."""
        for worker in workers:
            result = self._connection.ask_later(self._check, [worker])
            self._running.append(_Check(worker, result))
            result.add_done_callback(lambda _: self._changed())

    def start_silent(self, workers: Iterable[str]) -> None:
        """Check the silent workers among these again, which are known to be silent."""
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
        """Return the workers whose checks have ended since the last call, without lost ones.

        A worker that does not answer is returned once.
        """
        done = [each for each in self._running if each.result.done()]
        self._running = [each for each in self._running if each not in done]
        # A check fails if the connection is lost; it is made again, with new checks.
        good = [each.result for each in done if not each.is_lost and not _has_failed(each.result)]
        return [worker for each in good for worker in each.result() if self._is_new(worker)]

    def _is_new(self, worker: C) -> bool:
        """Return False for a silent worker that was returned before; check a silent one again."""
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
