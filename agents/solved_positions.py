"""Positions with exact values: the measure of moves that keep the value with best play.

`exact_values.json.xz`, which `scripts/solve` makes, has positions of many games. In each, at least
one move preserves the value (a win or a tie with best play) and at least one does not.
"""

from __future__ import annotations

import functools
import json
import lzma
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from playout import games
from playout.games import Game, Position

#: The file of the positions.
EXACT = Path(__file__).parent / "exact_values.json.xz"
#: The values of positions and actions by their signs.
VALUES = {"+": 1, "=": 0, "-": -1}


@dataclass(frozen=True)
class SolvedPosition:
    """A position, and its value for the player to move: 1, 0 or -1.

    `values` are the values of the legal actions, for the same player. In a game with chance, they
    are 1 for the actions with the greatest expected result, and -1 for the others.
    """

    position: Position
    value: int
    values: Mapping[int, int]

    def kept_by(self, action: int) -> bool:
        """Return whether `action` is legal and preserves the value of the position."""
        return self.values.get(action) == self.value

    @property
    def chance(self) -> float:
        """The share of the legal actions that preserve the value."""
        return sum(map(self.kept_by, self.values)) / len(self.values)


class SolvedEntry(NamedTuple):
    """A stored position: the state it begins with and the moves; an empty state is the game's own.

    `signs` has +, = or - for the value of each legal action, see `SolvedPosition`.
    """

    start: list[int]
    moves: list[int]
    signs: str

    def of(self, game: Game) -> SolvedPosition:
        """Return the position of a game with the values of its actions."""
        position = Position(game, self.moves, start=tuple(self.start) or None)
        signs = zip(position.legal_actions, self.signs, strict=True)
        values = {action: VALUES[sign] for action, sign in signs}
        return SolvedPosition(position, max(values.values()), values)


@functools.cache
def entries() -> dict[str, list[SolvedEntry]]:
    """Return the stored positions by the specification of their game."""
    stored = json.loads(lzma.decompress(EXACT.read_bytes()))
    return {game: [SolvedEntry(*each) for each in listed] for game, listed in stored.items()}


def exact() -> dict[str, list[SolvedPosition]]:
    """Return all positions by the specification of their game."""
    return {
        name: [entry.of(game) for entry in listed]
        for name, listed in entries().items()
        for game in [games.load(name)]
    }
