"""Games that go on in the next shard: they are handed from one job to another."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from players.training import complete_files


class Unfinished(NamedTuple):
    """Games that have not ended, with their samples so far: a row of each array is one game.

    The fields are those of `players.mcts.selfplay.Games`. What the search has found about the next
    moves is not part of it.
    """

    boards: NDArray[np.int64]
    last: NDArray[np.int64]
    ply: NDArray[np.int64]
    full: NDArray[np.int64]
    length: NDArray[np.int64]
    handicapped: NDArray[np.int64]
    states: NDArray[np.int64]
    actions: NDArray[np.int16]
    players: NDArray[np.int16]
    policies: NDArray[np.float32]
    values: NDArray[np.float32]


#: The fields with a column for each sample.
OF_SAMPLES = ("states", "actions", "players", "policies", "values")


def write_unfinished(path: Path, games: Unfinished) -> None:
    """Write games completely or not at all. Raises TrainingError."""
    complete_files.write_arrays(path, games._asdict(), {})


def read_unfinished(path: Path) -> Unfinished:
    """Read games that were written by a worker of the same training. Raises TrainingError."""
    arrays, _ = complete_files.read_arrays(path, "delete it")
    return Unfinished(**arrays)
