"""The command `go` of UCI: its limits, and how long a search may take because of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from playout.players.core.budget import LEAST_S, limit_for_move
from playout.players.core.player import Limit
from playout.players.engines.local_match import LocalMatch
from playout.protocol.messages import ClockState, TimeControl

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
        numbers = self.numbers
        limits = []
        if "movetime" in numbers:
            whole_s = _seconds(numbers["movetime"])
            limits.append(Limit(max(whole_s - lag_s, _LEAST_SHARE * whole_s) / actions))
        if _CLOCKS[match.mover][0] in numbers:
            limits.append(self._by_clock(match, lag_s))
        least = min(limits, key=lambda each: each.seconds or 0.0, default=Limit())
        nodes = max(1, numbers["nodes"] // actions) if "nodes" in numbers else None
        return replace(least, simulations=nodes, clock=None)

    def _by_clock(self, match: LocalMatch, lag_s: float) -> Limit:
        clock, increment = _CLOCKS[match.mover]
        left_s = _seconds(self.numbers[clock])
        control = TimeControl(left_s, max(0, self.numbers.get(increment, 0)) / 1000, 0, 0.0)
        clocks = ClockState(left_s, 0), ClockState(left_s, 0)
        moves = max(0, self.numbers.get("movestogo", 0))
        plies = min(match.game.max_plies - match.plies, _MOST_PLIES)
        limit = limit_for_move(
            control,
            clocks,
            match.mover,
            lag_s=lag_s,
            ply=0,
            max_plies=min(2 * moves, plies) if moves else plies,
        )
        if not moves:
            return limit
        even_s = (left_s - lag_s * moves) / (moves + 1)  # with one more move, for safety
        return replace(limit, seconds=max(limit.seconds or LEAST_S, even_s))


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
