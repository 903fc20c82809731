"""Positions of Connect Four with known values; `tests/data/connect_four.txt` names the source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from games import State
from games.connect_four import ConnectFour
from testbed.positions import states_after

FILE = Path(__file__).parents[2] / "tests" / "data" / "connect_four.txt"
_VALUES = {"+": 1, "=": 0, "-": -1}


@dataclass(frozen=True)
class SolvedPosition:
    """The match so far, and its value for the player to move: 1, 0 or -1.

    `values` are the values of the legal actions, for the same player.
    """

    states: tuple[State, ...]
    value: int
    values: Mapping[int, int]

    def kept_by(self, action: int) -> bool:
        """Return whether `action` preserves the value of the position."""
        return self.values[action] == self.value


def solved(kind: str) -> list[SolvedPosition]:
    """Return the positions of a kind: `hard` or `easy`."""
    game = ConnectFour()
    lines = [line.split() for line in FILE.read_text().splitlines() if not line.startswith("#")]
    return [
        SolvedPosition(
            tuple(states_after(game, [int(column) - 1 for column in moves])),
            _VALUES[value],
            {action: _VALUES[each] for action, each in enumerate(values) if each in _VALUES},
        )
        for moves, value, values, its_kind in lines
        if its_kind == kind
    ]
