"""The command `go` of UCI: its limits, and how long a search may take because of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from playout.players.core.budget import ReportedClock
from playout.players.core.player import Limit
from playout.players.engines.local_match import LocalMatch
from playout.protocol.messages import TimeControl

#: The least share of `movetime` for the search, whatever passes outside the engine.
_LEAST_SHARE = 0.3
#: The time outside the engine is reserved for this many plies at most: chess may take thousands.
_MOST_PLIES = 100
_NUMBER = re.compile("-?[0-9]{1,12}", re.ASCII)
_NUMBERS = (
    "wtime",
    "btime",
    "winc",
    "binc",
    "movestogo",
    "movetime",
    "nodes",
    "depth",
    "mate",
)
#: The time left and the increment of each player.
_CLOCKS = {1: ("wtime", "winc"), 2: ("btime", "binc")}
_FLAGS = ("infinite", "ponder")


@dataclass(frozen=True)
class GoCommand:
    """The words of a `go`: its numbers, its flags and the moves to search, () for all.

    Times are in milliseconds. `errors` are sentences about words that were ignored.
    """

    numbers: dict[str, int] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()
    search_moves: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def is_endless(self) -> bool:
        """Whether only `stop` ends the search: `infinite`, or no limit at all."""
        return "infinite" in self.flags or not {*self.numbers} - {"winc", "binc", "movestogo"}

    @property
    def ponders(self) -> bool:
        """Whether the limits hold from `ponderhit` on only."""
        return "ponder" in self.flags

    @property
    def depth(self) -> int | None:
        """The depth to reach in moves; to find a mate in n moves, 2n - 1."""
        depths = []
        if "depth" in self.numbers:
            depths.append(self.numbers["depth"])
        if "mate" in self.numbers:
            depths.append(2 * self.numbers["mate"] - 1)
        return max(1, min(depths)) if depths else None

    def limit(self, match: LocalMatch, lag_s: float, actions: int = 1) -> Limit:
        """Return the limit of time and nodes for the next action of a match.

        `lag_s` seconds of each move pass outside the engine; a move is a number of `actions`.
        """
        numbers, clock = self.numbers, ReportedClock()
        if "movetime" in numbers:
            whole_s = _seconds(numbers["movetime"])
            clock.move_s = max(whole_s - lag_s, _LEAST_SHARE * whole_s) / actions
        left, increment = _CLOCKS[match.mover]
        if left in numbers:
            gain_s = max(0, numbers.get(increment, 0)) / 1000
            clock.control = TimeControl(_seconds(numbers[left]), gain_s, 0, 0.0)
            clock.moves = max(0, numbers.get("movestogo", 0))
        plies = min(match.game.max_plies - match.plies, _MOST_PLIES)
        limit = clock.limit(match.mover, ply=0, max_plies=plies, lag_s=lag_s)
        nodes = max(1, numbers["nodes"] // actions) if "nodes" in numbers else None
        return replace(limit, simulations=nodes, clock=None)


def parse_go(words: Sequence[str], is_move: Callable[[str], bool]) -> GoCommand:
    """Return the command of the words after `go`; `is_move` tells the names of legal moves.

    Words that cannot be used are ignored, as the protocol says.
    """
    numbers: dict[str, int] = {}
    moves: list[str] = []
    errors: list[str] = []
    rest = [*words]
    while rest:
        word = rest.pop(0)
        if word in _NUMBERS:
            if rest and _NUMBER.fullmatch(rest[0]):
                numbers[word] = int(rest.pop(0))
            else:
                given = repr(rest[0]) if rest else "nothing"
                errors.append(f"go: expected a whole number after {word}, not {given}")
        elif word == "searchmoves":
            while rest and is_move(rest[0]):
                moves.append(rest.pop(0))
            if not moves:
                errors.append("go: expected legal moves after searchmoves")
        elif word not in _FLAGS:
            errors.append(f"go: {word[:20]!r} is ignored")
    flags = frozenset(word for word in words if word in _FLAGS)
    return GoCommand(numbers, flags, tuple(moves), tuple(errors))


def _seconds(milliseconds: int) -> float:
    return max(1, milliseconds) / 1000
