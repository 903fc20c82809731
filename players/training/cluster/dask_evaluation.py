"""Evaluations on the workers of a Dask cluster: each pair of matches is a task."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from players.training.cluster import cluster_tasks, pair_task
from players.training.cluster.cluster_tasks import ClusterTask, ClusterTasks
from players.training.cluster.pair_task import PairTask
from players.training.evaluation import EvaluationTerms, openings
from players.training.settings import ProcessSettings
from server.tournament.pairs import PairScore

#: Seconds between two looks at the cluster, while nothing happens.
_POLL_S = 0.1


def played(
    address: str, terms: EvaluationTerms, pairs: int, say: Callable[[str], None]
) -> Iterator[PairScore]:
    """Play so many pairs on a cluster; yield the points of the first player as pairs end.

    Raises OpeningError, TrainingError, and ClickException if there are no workers that can.
    """
    found: list[PairScore] = []
    given = openings(terms, pairs)
    with cluster_tasks.opened(address, ProcessSettings(), say) as tasks:
        nets = [str(each.net) for each in terms.players if each.net]
        tasks.start((_task(tasks, terms, i, each, found) for i, each in enumerate(given)), nets)
        while not tasks.is_idle or found:
            while found:
                yield found.pop()
            if not tasks.is_idle:
                tasks.poll(_POLL_S)


def _task(
    tasks: ClusterTasks,
    terms: EvaluationTerms,
    number: int,
    opening: Sequence[int],
    found: list[PairScore],
) -> ClusterTask:
    name = f"pair-{number + 1}"
    return ClusterTask(
        name=name,
        call=pair_task.play_pair,
        arguments=functools.partial(_arguments, tasks, terms, name, opening),
        take=found.append,
    )


def _arguments(
    tasks: ClusterTasks, terms: EvaluationTerms, name: str, opening: Sequence[int], attempt: int
) -> tuple[PairTask, Any, Any]:
    kept = [tasks.file(str(each.net)) if each.net else (None, None) for each in terms.players]
    (one, first), (other, second) = kept
    task = PairTask(
        run=tasks.run,
        name=name,
        attempt=attempt,
        game=str(terms.game),
        players=terms.players,
        digests=(one, other),
        limit=terms.limit,
        opening=tuple(opening),
    )
    return task, first, second
