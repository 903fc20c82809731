"""Evaluations on the workers of a Dask cluster: each pair of matches is a task."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from distributed import Worker, get_worker

from playout import games
from playout.players import Limit
from playout.players.nets.files import write_atomically
from playout.players.training.cluster import cluster_tasks
from playout.players.training.cluster.cluster_tasks import (
    ClusterTask,
    ClusterTasks,
    report,
    topic,
)
from playout.players.training.evaluation import (
    EvaluatedPlayer,
    EvaluationTerms,
    openings,
    played_pair,
)
from playout.players.training.run_folder import read
from playout.players.training.settings import ProcessSettings
from playout.ratings.pairs import PairScore


@dataclass(frozen=True)
class PairTask:
    """A pair to play: the terms of the evaluation, and the opening.

    `run` names the files of the nets; `name` and `attempt` are for reports.
    """

    run: str
    name: str
    attempt: int
    game: str
    players: tuple[EvaluatedPlayer, EvaluatedPlayer]
    limit: Limit
    opening: Sequence[int]


def play_pair(task: PairTask, first: bytes | None, second: bytes | None) -> PairScore:
    """Play a pair; called as a task, with the nets of both players."""
    worker = get_worker()
    report(worker, task.run, task.name, task.attempt, started=worker.address)
    game = games.load(task.game)
    both = [
        _with_file(worker, player, f"{topic(task.run)}-{number}", content)
        for number, (player, content) in enumerate(zip(task.players, (first, second), strict=True))
    ]
    terms = EvaluationTerms(game, (both[0], both[1]), task.limit, len(task.opening), 0)
    return played_pair(terms, task.opening)


def _with_file(
    worker: Worker, player: EvaluatedPlayer, name: str, content: bytes | None
) -> EvaluatedPlayer:
    """Return a player with its file on this machine; Dask removes the folder with the worker."""
    if content is None or player.learned is None:
        return player
    path = Path(worker.local_directory) / f"{name}{player.learned.suffix}"
    if not path.exists():
        write_atomically(path, content)
    return replace(player, learned=path)


#: Seconds between two polls of the cluster without a change.
_POLL_S = 0.1


def played(
    address: str, terms: EvaluationTerms, pairs: int, say: Callable[[str], None]
) -> Iterator[PairScore]:
    """Play pairs on a cluster; yield the points of the first player as pairs end.

    Raises OpeningError, TrainingError, and ClickException if all workers have faults.
    """
    found: list[PairScore] = []
    given = openings(terms, pairs)
    with cluster_tasks.opened(address, ProcessSettings(), say) as tasks:
        learned = [each.learned for each in terms.players if each.learned]
        contents = {str(each): read(each) for each in learned}
        tasks.start((_task(tasks, terms, i, each, found) for i, each in enumerate(given)), contents)
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
        call=play_pair,
        arguments=functools.partial(_arguments, tasks, terms, name, opening),
        take=found.append,
    )


def _arguments(
    tasks: ClusterTasks, terms: EvaluationTerms, name: str, opening: Sequence[int], attempt: int
) -> tuple[PairTask, Any, Any]:
    first, second = (
        tasks.file(str(each.learned)) if each.learned else None for each in terms.players
    )
    task = PairTask(
        run=tasks.run,
        name=name,
        attempt=attempt,
        game=str(terms.game),
        players=terms.players,
        limit=terms.limit,
        opening=tuple(opening),
    )
    return task, first, second
