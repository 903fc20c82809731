"""The task of Dask that plays a pair of matches of an evaluation, on a worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from distributed import Worker, get_worker

import games
from players import Limit
from players.nets.files import write_atomically
from players.training.cluster.progress import report
from players.training.evaluation import EvaluatedPlayer, EvaluationTerms, played_pair
from server.tournament.pairs import PairScore


@dataclass(frozen=True)
class PairTask:
    """A pair to play: the terms of the evaluation, as values, and the opening.

    `digests` are those of the players' nets, None for players without a file. `run`, `name` and
    `attempt` are for reports.
    """

    run: str
    name: str
    attempt: int
    game: str
    players: tuple[EvaluatedPlayer, EvaluatedPlayer]
    digests: tuple[str | None, str | None]
    limit: Limit
    opening: Sequence[int]


def play_pair(task: PairTask, first: bytes | None, second: bytes | None) -> PairScore:
    """Play a pair; called as a task, with the nets of both players."""
    worker = get_worker()
    report(worker, task.run, task.name, task.attempt, started=worker.address)
    game = games.load(task.game)
    both = [
        replace(player, net=_written(worker, digest, net)) if digest and net else player
        for player, digest, net in zip(task.players, task.digests, (first, second), strict=True)
    ]
    terms = EvaluationTerms(game, (both[0], both[1]), task.limit, len(task.opening), 0)
    return played_pair(terms, task.opening)


def _written(worker: Worker, digest: str, net: bytes) -> Path:
    """The file of a net, whose digest is its name; Dask removes the folder with the worker."""
    path = Path(worker.local_directory) / f"playout-net-{digest}.onnx"
    if not path.exists():
        write_atomically(path, net)
    return path
