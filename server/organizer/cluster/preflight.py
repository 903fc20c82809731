"""What is wrong with which worker: the checks before the first match, and of workers that join."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from server.organizer.cluster import worker_check
from server.organizer.cluster.connection import DaskConnection
from server.organizer.cluster.job import ClusterJob
from server.organizer.cluster.worker_check import WorkerAnswer

#: Largest difference of a worker's clock: certificates and logs depend on it. Matches do not.
_CLOCK_S = 60.0
#: A worker with less than this share of the median speed is reported.
_SLOW = 0.7


@dataclass(frozen=True)
class CheckedWorker:
    """A worker with its answer, None without one, and a sentence for each fault."""

    address: str
    answer: WorkerAnswer | None
    faults: tuple[str, ...]

    @property
    def cores(self) -> int:
        """The cores that it offers to entrants."""
        return self.answer.cores if self.answer and not self.faults else 0


def check(
    connection: DaskConnection, job: ClusterJob, workers: Iterable[str] | None = None
) -> list[CheckedWorker]:
    """Check workers, all of them by default, and let those without faults offer their cores.

    Raises OSError.
    """
    began = time.time()
    answers = connection.run(worker_check.ask, job, workers=workers)
    ended = time.time()
    found = [
        CheckedWorker(address, None, (_failure(answer),))
        if isinstance(answer, Exception)
        else CheckedWorker(address, answer, tuple(_faults(answer, job, began, ended)))
        for address, answer in sorted(answers.items())
    ]
    connection.run(worker_check.offer_cores, workers=[each.address for each in found if each.cores])
    return found


def _failure(error: Exception) -> str:
    """What an error means that prevented an answer."""
    if isinstance(error, ModuleNotFoundError) and error.name in ("server", "games", "players"):
        return "Playout is not installed there: pip install 'playout[cluster]'"
    if isinstance(error, ImportError | AttributeError):
        return f"it has another version of Playout ({error}): install the one of the runner"
    return f"it cannot be checked: {type(error).__name__}: {error}"


def _faults(answer: WorkerAnswer, job: ClusterJob, began: float, ended: float) -> Iterator[str]:
    python, playout, code = worker_check.versions()
    if _minor(answer.python) != _minor(python):
        yield f"it runs Python {answer.python}, and the runner {python}: use the same minor version"
    if answer.playout != playout:
        yield f"it has Playout {answer.playout}, and the runner {playout}: install the same"
    elif answer.code != code:
        yield (
            f"its Playout {playout} has other games or players than the runner's: install the same "
            "sources and plugins"
        )
    for program in answer.missing:
        yield f"there is no program {program!r} that can be run: install it there"
    if answer.unreachable:
        host, port = job.address
        yield (
            f"it cannot connect to the server at {host}:{port} ({answer.unreachable}): use a "
            "server that it can reach, --server HOST:PORT"
        )
    if not began - _CLOCK_S <= answer.time <= ended + _CLOCK_S:
        minutes = (answer.time - (began + ended) / 2) / 60
        how = "ahead" if minutes > 0 else "behind"
        yield f"its clock is {abs(minutes):.0f} minutes {how}: set it, for example with NTP"


def _minor(version: str) -> list[str]:
    return version.split(".")[:2]


def table(workers: Sequence[CheckedWorker]) -> str:
    """The workers with their faults, one a line; empty if there are no faults."""
    if not any(each.faults for each in workers):
        return ""
    rows = Table("worker", "host", box=None, pad_edge=False)
    rows.add_column("fault", overflow="fold")
    for each in workers:
        for fault in each.faults:
            rows.add_row(each.address, each.answer.host if each.answer else "", fault)
    console = Console(width=200, color_system=None)
    with console.capture() as captured:
        console.print(rows)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def slow_workers(workers: Sequence[CheckedWorker]) -> list[str]:
    """A sentence for each worker that is slower than others by the calibration."""
    good = [(each.address, each.answer) for each in workers if each.answer and not each.faults]
    if not good:
        return []
    usual = statistics.median(answer.speed for _, answer in good)
    return [
        f"worker {address} ({answer.host}) computes at {answer.speed / usual:.0%} of the median "
        "speed of the workers: players that think by the clock think less there"
        for address, answer in good
        if answer.speed < _SLOW * usual
    ]
