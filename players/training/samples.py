"""Samples of self-play, and shards: the samples that one worker played in one round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playout.games import Game

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
