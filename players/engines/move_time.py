"""The time for a move that an engine is told: what is left of it, less a margin.

The margin is for what passes between the engine and this process, and for engines that notice the
end of their time late. It is at least `margin_s` of the engine's table, at least 5 % of the move's
time, and at least twice the longest time by which the engine has exceeded its time in this match;
but never more than half of what is left. On a busy machine with two cores, Fairy-Stockfish exceeded
280 ms by less than 1 ms in half of its moves, by 28 ms in one of 100, and by at most 81 ms.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from playout.players.core.player import Limit

#: The least margin by default, in seconds, and as a share of the time.
MARGIN_S, MARGIN_SHARE = 0.05, 0.05
#: The largest share of the time that the margin takes.
_MOST_SHARE = 0.5
#: The margin as a multiple of the longest time that was exceeded, and the share of that time that
#: the next match begins with.
_CAUTION, _REMEMBERED = 2.0, 0.5


class MoveTime:
    """Subtracts margins from the limits of moves, and measures how an engine keeps them."""

    def __init__(self, margin_s: float, now: Callable[[], float] = time.monotonic) -> None:
        self._margin_s = margin_s
        self._now = now
        #: When the clock of the move began, and when the engine was told to search.
        self._began = self._told = now()
        #: The longest time by which the engine has exceeded its time in this match.
        self._exceeded_s = 0.0

    def new_match(self) -> None:
        """Forget half of what the answers of the last match have shown."""
        self._exceeded_s *= _REMEMBERED

    def begin(self, at: float) -> None:
        """Note that the clock of a move runs since `at`, as of `time.monotonic`."""
        self._began = at

    def left(self, limit: Limit) -> Limit:
        """Return the limit that the engine is told now, when its search begins."""
        self._told = self._now()
        used_s = self._told - self._began
        if limit.seconds is None:
            return limit
        left_s = max(0.0, limit.seconds - used_s)
        margin_s = max(self._margin_s, MARGIN_SHARE * left_s, _CAUTION * self._exceeded_s)
        margin_s = min(margin_s, _MOST_SHARE * left_s)
        clock = limit.clock
        if clock:
            clock = replace(clock, overhead_s=clock.overhead_s + used_s + margin_s)
        return replace(limit, seconds=left_s - margin_s, clock=clock)

    def answered(self, given_s: float | None) -> None:
        """Note that the engine, which was given some seconds for the move, has answered."""
        if given_s is not None:
            exceeded_s = self._now() - self._told - given_s
            self._exceeded_s = max(self._exceeded_s, exceeded_s)
