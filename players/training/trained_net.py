"""Writes the nets of a run, with what they say about themselves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from playout.players.nets import graph
from playout.players.training.display import duration
from playout.players.training.record import RoundRecord
from playout.players.training.settings import TrainingSettings


def write_net(
    path: Path,
    settings: TrainingSettings,
    parameters: Mapping[str, NDArray[np.float32]],
    last: RoundRecord | None,
    half: bool = False,
) -> None:
    """Write a net as an ONNX file; `last` is the last round that it has learned from.

    With `half` the file has half the size. Raises NetError.
    """
    metadata = {
        "author": settings.author,
        "licence": settings.licence,
        "trained": _trained(settings, last),
    }
    graph.write(path, settings.game, parameters, metadata, half)


def _trained(settings: TrainingSettings, last: RoundRecord | None) -> str:
    if last is None:
        return f"not at all: random numbers of the seed {settings.seed}"
    return (
        f"by playout-train in {duration(last.seconds)}: seed {settings.seed}, {last.round} rounds, "
        f"{last.games:,} games, {last.evaluations:,} evaluations"
    )
