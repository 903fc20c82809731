"""The results of a test by the workers of a cluster, and a worker whose results disagree.

A worker with a wrong clock, a damaged library or other programs on its cores changes how often a
candidate wins. So the results on each worker are compared with those on the others (chi-squared
test), at growing numbers of matches. An honest worker is found in at most one of a hundred tests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from playout.commands.durable_files import append, stored
from playout.games import TIE
from playout.protocol.messages import Fixture

#: The sum of the levels of all looks: there is one more at the end of a test.
_FALSE_ALARM = 0.005
#: The matches before the first look; there is another one after each doubling.
FIRST_LOOK = 64
#: The fewest workers among which one can disagree with the others, and the fewest expected matches
#: of a result: for fewer, the distribution is another one.
_FEWEST_WORKERS, _FEWEST_EXPECTED = 3, 4.0
_WINNERS = (1, TIE, 2)


class WorkerResult(NamedTuple):
    """A match on a worker; `kind` is what its result depends on, as the players and the seats."""

    worker: str
    kind: object
    winner: int


class _Place(msgspec.Struct, frozen=True):
    """A line of the file: a match, and the address of its worker."""

    match: str
    worker: str


class Suspect(NamedTuple):
    """A worker whose results disagree, and the probability of that by chance."""

    worker: str
    p: float


class WorkerResults:
    """Where the matches of a test are played, in a file; it knows its matches of before."""

    def __init__(self, path: Path) -> None:
        """Read the file, if there is one. Raises OSError."""
        self._path = path
        self._workers: dict[str, str] = {}
        if path.exists():
            with path.open("a+b") as file:
                self._workers |= {each.match: each.worker for each in stored(file, _Place)}
        self._looked = _looks(len(self._workers))  # a process before has looked

    def note(self, match: str, worker: str) -> None:
        """Note the worker of a match that has begun. Raises OSError."""
        if match not in self._workers:
            self._workers[match] = worker
            with self._path.open("ab") as file:
                append(file, _Place(match, worker), durable=False)

    def matches_on(self, worker: str) -> list[str]:
        """Return the matches that were played on a worker."""
        return [match for match, where in self._workers.items() if where == worker]

    def is_due(self, ended: int) -> bool:
        """Return whether it is time to look, after that many matches; once for each number."""
        look = _looks(ended)
        is_due, self._looked = look > self._looked, max(look, self._looked)
        return is_due

    def suspect(self, fixtures: Mapping[str, Fixture]) -> Suspect | None:
        """Return the worker whose results disagree most with the others, if any do."""
        found = [
            WorkerResult(self._workers[each.match], (each.game, each.players), each.winner)
            for each in fixtures.values()
            if each.winner and each.match in self._workers
        ]
        return suspect(found)


def _looks(matches: int) -> int:
    """Return the number of looks until that many matches have ended."""
    return (matches // FIRST_LOOK).bit_length()


def suspect(results: Iterable[WorkerResult]) -> Suspect | None:
    """Return the worker whose results disagree most with those of the others, if any do.

    The k-th look, from FIRST_LOOK 2^(k-1) matches on, has the share 1 / (k (k + 1)) of the level of
    all, and each worker an equal part of that.
    """
    counts: dict[str, Counter[tuple[object, int]]] = {}
    for each in results:
        counts.setdefault(each.worker, Counter())[each.kind, each.winner] += 1
    if len(counts) < _FEWEST_WORKERS:
        return None
    whole: Counter[tuple[object, int]] = sum(counts.values(), Counter())
    look = max(1, _looks(whole.total()))
    level = _FALSE_ALARM / (look * (look + 1)) / len(counts)
    found = [Suspect(worker, _p_value(own, whole - own)) for worker, own in counts.items()]
    worst = min(found, key=lambda each: each.p)
    return worst if worst.p < level else None


def _p_value(own: Counter[Any], others: Counter[Any]) -> float:
    """Return the probability of so different results of a worker and the others by chance.

    Results of each kind are a table of two rows, without results that are too rare.
    """
    from scipy.special import chdtrc  # its import takes 0.1 s

    statistic, freedom = 0.0, 0
    for kind in {kind for kind, _ in own}:
        rows = [[counts[kind, winner] for winner in _WINNERS] for counts in (own, others)]
        table = np.array(rows)
        expected = table.sum(0) * table.sum(1).min() / table.sum()
        common = table[:, expected >= _FEWEST_EXPECTED]
        if common.shape[1] > 1 and common.sum(1).all():
            likely = np.outer(common.sum(1), common.sum(0)) / common.sum()
            statistic += float(((common - likely) ** 2 / likely).sum())
            freedom += common.shape[1] - 1
    return float(chdtrc(freedom, statistic)) if freedom else 1.0
