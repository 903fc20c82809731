"""The samples of the last rounds, from which batches are drawn at random and encoded."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from playout.games import Game
from playout.players.nets.encoding import Encoding
from playout.players.training.samples import Samples, joined
from playout.players.training.settings import LearningSettings


class Batch(NamedTuple):
    """Inputs and targets of a step: `legal` is true for legal actions, `value` is from -1 to 1."""

    planes: NDArray[np.float32]
    legal: NDArray[np.bool_]
    policy: NDArray[np.float32]
    value: NDArray[np.float32]


class ReplayBuffer:
    """The last rounds, from which the net learns; their number grows with the run."""

    def __init__(self, game: Game, settings: LearningSettings) -> None:
        self._game = game
        self._settings = settings
        self._encoding = Encoding(game)
        self._augmentation = _Augmentation(game if settings.symmetries else None)
        self._rounds = deque[tuple[Samples, NDArray[np.bool_]]]()
        self._all: tuple[Samples, NDArray[np.bool_]] | None = None

    def add_round(self, number: int, samples: Samples) -> None:
        """Add the samples of round `number`, from 1, and remove those before the window."""
        self._rounds.append((samples, legal_actions(self._game, samples.states)))
        while len(self._rounds) > window(self._settings, number):
            self._rounds.popleft()
        self._all = None

    @property
    def positions(self) -> int:
        """The number of samples in the window."""
        return sum(samples.positions for samples, _ in self._rounds)

    def draw(self, random: np.random.Generator) -> Batch:
        """Draw a batch, with each sample moved by a random symmetry. The window is not empty.

        The target of the value is a mean of the result and the search's estimate.
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
    """Return the number of rounds in the window after round `number`: half of all, in bounds."""
    return max(settings.least_rounds, min(settings.most_rounds, number // 2))


def legal_actions(game: Game, states: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return an array [state, action] that is true for legal actions."""
    legal = np.zeros((len(states), game.num_actions), dtype=np.bool_)
    for row, state in zip(legal, states.tolist(), strict=True):
        row[list(game.legal_actions(tuple(state)))] = True
    return legal


class _Augmentation:
    """The symmetries of a game as tables of indices; without a game, only the identity."""

    def __init__(self, game: Game | None) -> None:
        symmetries = game.symmetries if game else ()
        #: At [s, c], the cell that symmetry s moves to cell c; the same for actions.
        self._cells = np.array([np.argsort(each.cells) for each in symmetries])
        self._actions = np.array([np.argsort(each.actions) for each in symmetries])

    def apply(self, batch: Batch, random: np.random.Generator) -> Batch:
        """Move each row by a random symmetry."""
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
