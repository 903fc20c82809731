"""Small nets with random numbers, for tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from playout.games import Game
from playout.players.nets.graph import Architecture, write

SMALL = Architecture(blocks=1, filters=4, head_planes=2, value_hidden=3)
METADATA = {"author": "Ada", "licence": "MIT", "trained": "not at all"}


def write_small_net(path: Path, game: Game, seed: int = 1) -> Path:
    """Writes a net with random parameters; returns the path."""
    write(path, game, SMALL.initial(game, np.random.default_rng(seed)), METADATA)
    return path


def random_planes(
    shape: tuple[int, ...], count: int, seed: int = 1
) -> np.typing.NDArray[np.float32]:
    """Returns arrays of zeros and ones in the shape of encoded positions."""
    return np.random.default_rng(seed).integers(0, 2, (count, *shape)).astype(np.float32)
