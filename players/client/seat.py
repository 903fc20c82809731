"""What a connected player knows of its match, and of those before."""

from __future__ import annotations

from dataclasses import dataclass

from games import State
from server.messages import Reading, Started


@dataclass
class Seat:
    """A match as one of its players sees it."""

    started: Started
    states: list[State]
    clocks: tuple[Reading, Reading] | None
    thinking: bool = False
    over: bool = False
    lost_sight: bool = False

    @property
    def ply(self) -> int:
        """The number of the next move."""
        return len(self.states) - 1

    @property
    def number(self) -> int:
        """1 or 2."""
        assert self.started.seat is not None
        return self.started.seat


@dataclass
class Tally:
    """Results so far."""

    won: int = 0
    lost: int = 0
    tied: int = 0
    void: int = 0
    faults: int = 0

    @property
    def played(self) -> int:
        """Matches with a result."""
        return self.won + self.lost + self.tied
