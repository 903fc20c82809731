"""Samples of self-play: shards, and the last rounds, from which batches are drawn at random.

A shard has the samples that one process played in one round.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playout.games import Game
from playout.players.nets.encoding import Encoding
from playout.players.training.settings import LearningSettings

#: The form of a stored shard; one of another form is refused.
FORMAT = 1


class Samples(NamedTuple):
    """Positions with the results of their searches and games: a row of each array is one position.

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

    `plies` is the number of moves, `net_seconds` the time inside the net and `seconds` the whole
    time, both summed over workers.
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


class ShardName(NamedTuple):
    """A round, and the place of a shard in it, from 0."""

    round: int
    place: int

    def __str__(self) -> str:
        return f"{self.round:04}-{self.place}"

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self}.npz"


class Shard(NamedTuple):
    """The samples of one worker in one round, and the counts of their games.

    The games were played by the net after the round `net`, None if that is unknown.
    """

    samples: Samples
    played: Played
    net: int | None = None

    def about(self, game: Game) -> dict[str, Any]:
        """Return the JSON object that is stored with the samples."""
        played = asdict(self.played)
        return {"format": FORMAT, "game": str(game), "played": played, "net": self.net}

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any], game: Game) -> Shard:
        """Return a stored shard. Raises ValueError if it does not fit the game."""
        if about.get("format") != FORMAT or about.get("game") != str(game):
            raise ValueError(
                f"has samples of {about.get('game')} in format {about.get('format')}, "
                f"expected {game} in format {FORMAT}"
            )
        try:
            columns = zip(Samples(**arrays)._asdict().values(), _KINDS, strict=True)
            samples = Samples(*(array.astype(kind, copy=False) for array, kind in columns))
            shard = cls(samples, Played(**about["played"]), about.get("net"))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"its contents are not those of a shard: {error}") from error
        _require_shapes(samples, game)
        return shard


def joined(parts: Iterable[Samples]) -> Samples:
    """Return the rows of all parts, in order. Raises ValueError without parts."""
    return Samples(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _require_shapes(samples: Samples, game: Game) -> None:
    """Raises ValueError if the arrays do not fit each other and the game."""
    widths = {"states": (len(game.initial_state()),), "policy": (game.num_actions,)}
    for name, array in samples._asdict().items():
        expected = (*samples.last.shape[:1], *widths.get(name, ()))
        if array.shape != expected or not np.isfinite(array).all():
            raise ValueError(
                f"{name} has the shape {array.shape} or numbers that are not finite, "
                f"expected {expected}"
            )


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
