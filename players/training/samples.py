"""Samples of self-play, and shards: files with the samples that one worker played in one round."""

from __future__ import annotations

from collections import deque
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from playout.games import Game
from playout.players.nets.encoding import Encoding
from playout.players.training import run_files
from playout.players.training.run_files import TrainingError
from playout.players.training.settings import LearningSettings

#: The form of a shard; a file of another form is refused.
FORMAT = 1


class Samples(NamedTuple):
    """Positions, and what was learned about them: a row of each array is one position.

    `last` is the last action before the position, -1 without one. `policy` is the share of the
    visits of each action, without those that only noise caused, and sums to 1. `outcome` is 1, 0
    or -1 for the player to move, and `search_value` the search's estimate of it, from -1 to 1.
    """

    states: NDArray[np.int64]
    last: NDArray[np.int16]
    policy: NDArray[np.float32]
    outcome: NDArray[np.float32]
    search_value: NDArray[np.float32]

    @property
    def positions(self) -> int:
        """The number of rows of each array."""
        return int(self.last.shape[0])


_KINDS = (np.int64, np.int16, np.float32, np.float32, np.float32)


@dataclass(frozen=True)
class Played:
    """Counts of the games of a shard, or the sums over several shards.

    `plies` are all moves of the games, `net_seconds` the time inside the net and `seconds` the
    whole time, both summed over workers.
    """

    games: int = 0
    positions: int = 0
    evaluations: int = 0
    plies: int = 0
    first_player_wins: int = 0
    ties: int = 0
    net_seconds: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: Played) -> Played:
        return Played(*(
            getattr(self, each.name) + getattr(other, each.name) for each in fields(Played)
        ))  # fmt: skip


class Shard(NamedTuple):
    """The samples of one worker in one round, and the counts of the games they come from.

    `net`: the round after which the net was written that played them; None if it is not known.
    """

    samples: Samples
    played: Played
    net: int | None = None


def write_shard(path: Path, game: Game, shard: Shard) -> None:
    """Write a shard completely or not at all. Raises TrainingError."""
    about = {
        "format": FORMAT,
        "game": str(game),
        "played": asdict(shard.played),
        "net": shard.net,
    }
    run_files.write_arrays(path, _of_kinds(shard.samples)._asdict(), about)


def read_shard(path: Path, game: Game) -> Shard:
    """Read a shard and check that it fits the game. Raises TrainingError."""
    arrays, about = run_files.read_arrays(path, "delete it or restore a copy")
    if about.get("format") != FORMAT or about.get("game") != str(game):
        raise TrainingError(
            f"{path}: has samples of {about.get('game')} in format {about.get('format')}, "
            f"expected {game} in format {FORMAT}"
        )
    try:
        samples = _of_kinds(Samples(**arrays))
        shard = Shard(samples, Played(**about["played"]), about.get("net"))
    except (KeyError, TypeError, ValueError) as error:
        raise TrainingError(f"{path}: its contents are not those of a shard: {error}") from error
    _require_shapes(path, shard.samples, game)
    return shard


def joined(parts: list[Samples]) -> Samples:
    """Return the rows of all parts, in order. Raises ValueError without parts."""
    return Samples(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _of_kinds(samples: Samples) -> Samples:
    """The samples with the types of `Samples`. Raises ValueError."""
    arrays = zip(samples._asdict().values(), _KINDS, strict=True)
    return Samples(*(array.astype(kind, copy=False) for array, kind in arrays))


def _require_shapes(path: Path, samples: Samples, game: Game) -> None:
    """Raises TrainingError if the arrays do not fit each other and the game."""
    widths = {"states": (len(game.initial_state()),), "policy": (game.num_actions,)}
    for name, array in samples._asdict().items():
        expected = (*samples.last.shape[:1], *widths.get(name, ()))
        if array.shape != expected or not np.isfinite(array).all():
            raise TrainingError(
                f"{path}: {name} has the shape {array.shape} or numbers that are not finite, "
                f"expected {expected}"
            )


# The samples of the last rounds, from which batches are drawn at random and encoded.


class Batch(NamedTuple):
    """Inputs and targets of a step: `legal` is 1 for legal actions, `value` is from -1 to 1."""

    planes: NDArray[np.float32]
    legal: NDArray[np.bool_]
    policy: NDArray[np.float32]
    value: NDArray[np.float32]


class ReplayBuffer:
    """The window of rounds that the net learns from: it grows with the number of rounds."""

    def __init__(self, game: Game, settings: LearningSettings) -> None:
        self._game = game
        self._settings = settings
        self._encoding = Encoding(game)
        self._augmentation = _Augmentation(game if settings.symmetries else None)
        self._rounds = deque[tuple[Samples, NDArray[np.bool_]]]()
        self._all: tuple[Samples, NDArray[np.bool_]] | None = None

    def add_round(self, number: int, samples: Samples) -> None:
        """Add the samples of round `number`, counted from 1, and forget those before the window."""
        self._rounds.append((samples, legal_actions(self._game, samples.states)))
        while len(self._rounds) > window(self._settings, number):
            self._rounds.popleft()
        self._all = None

    @property
    def positions(self) -> int:
        """The number of samples in the window."""
        return sum(samples.positions for samples, _ in self._rounds)

    def draw(self, random: np.random.Generator) -> Batch:
        """Draw a batch, with each sample turned and reflected at random. The window is not empty.

        The value to learn is a mean of the result and the search's estimate.
        """
        if self._all is None:
            parts, masks = zip(*self._rounds, strict=True)
            self._all = joined(list(parts)), np.concatenate(masks)
        samples, legal = self._all
        rows = random.integers(0, samples.positions, self._settings.batch)
        planes = self._encoding.encode(samples.states[rows], samples.last[rows].astype(np.int64))
        share = np.float32(self._settings.outcome_weight)
        value = share * samples.outcome[rows] + (1 - share) * samples.search_value[rows]
        batch = Batch(planes, legal[rows], samples.policy[rows], value)
        return self._augmentation.apply(batch, random)


def window(settings: LearningSettings, number: int) -> int:
    """Return how many rounds are learned from after round `number`: half of all, within bounds."""
    return max(settings.least_rounds, min(settings.most_rounds, number // 2))


def legal_actions(game: Game, states: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for each state a row that is true at the legal actions."""
    legal = np.zeros((len(states), game.num_actions), dtype=np.bool_)
    for row, state in zip(legal, states.tolist(), strict=True):
        row[list(game.legal_actions(tuple(state)))] = True
    return legal


class _Augmentation:
    """The symmetries of a game as tables of indices; without a game the identity alone."""

    def __init__(self, game: Game | None) -> None:
        symmetries = game.symmetries if game else ()
        #: At [s, c], the cell that symmetry s moves to cell c; the same for actions.
        self._cells = np.array([np.argsort(each.cells) for each in symmetries])
        self._actions = np.array([np.argsort(each.actions) for each in symmetries])

    def apply(self, batch: Batch, random: np.random.Generator) -> Batch:
        """Move each row by a symmetry that is drawn at random."""
        if len(self._cells) < 2:
            return batch
        drawn = random.integers(0, len(self._cells), len(batch.planes))
        flat = batch.planes.reshape(*batch.planes.shape[:2], -1)
        moved = np.take_along_axis(flat, self._cells[drawn][:, None, :], axis=2)
        actions = self._actions[drawn]
        return Batch(
            moved.reshape(batch.planes.shape),
            np.take_along_axis(batch.legal, actions, axis=1),
            np.take_along_axis(batch.policy, actions, axis=1),
            batch.value,
        )
