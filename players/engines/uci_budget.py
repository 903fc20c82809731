"""How much a search of our UCI engine has used of its limits, and how long its next turn is.

With a limit of time T, turns end at T and at the powers of ten before it, T / 10 and so on: a
search that begins anew in each turn loses a tenth of its time, and `stop` always finds a move.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

from playout.players.core.budget import LEAST_S
from playout.players.core.player import Limit

#: Seconds of the shortest first turn of several, and the simulations of a first turn if their
#: number is limited.
_SHORTEST_S, _FIRST_NODES = 0.02, 100
#: A turn ends this many times as late as the one before.
_FACTOR = 10
#: The time is used up if less than this share is left.
_SPARE = 0.02


class SearchBudget:
    """The limits of one search, and what it has used of them."""

    def __init__(
        self, limit: Limit, *, waits: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`waits`: the time is not limited until it is false, but counts from now on."""
        self._limit, self._clock = limit, clock
        self._began_s = clock()
        self.waits = waits
        #: Whether a move is known: without one, there is always time for a turn.
        self.has_move = False
        #: The nodes of all turns.
        self.nodes = 0

    @property
    def elapsed_s(self) -> float:
        """Seconds since the search began."""
        return self._clock() - self._began_s

    @property
    def is_limited(self) -> bool:
        """Whether time or nodes end the search."""
        return self._limit.simulations is not None or (
            self._limit.seconds is not None and not self.waits
        )

    @property
    def per_action(self) -> Limit:
        """The limit for a further action of the move that was found."""
        return Limit(self._limit.seconds, self._limit.simulations)

    def left(self) -> Limit | None:
        """Return the time and the nodes that are left; None if either is used up."""
        seconds, nodes = self._limit.seconds, self._limit.simulations
        if nodes is not None:
            nodes = max(nodes - self.nodes, 0 if self.has_move else 1)
        if nodes == 0:
            return None
        if self.waits or seconds is None:
            return Limit(None, nodes)
        left_s = seconds - self.elapsed_s
        if self.has_move and left_s < _SPARE * seconds:
            return None
        return Limit(max(left_s, LEAST_S), nodes, self._limit.time_carries_over)

    def turn(self, seconds: float) -> Limit | None:
        """Return the limit of the next turn, `seconds` if neither time nor nodes are limited.

        Returns None if nothing is left.
        """
        left, total_s = self.left(), self._limit.seconds
        if left is None:
            return None
        if left.simulations is not None and not self.has_move:
            left = replace(left, simulations=min(left.simulations, _FIRST_NODES))
        if left.seconds is None or total_s is None:
            return left if left.simulations is not None else Limit(seconds)
        elapsed_s, end_s = total_s - left.seconds, total_s
        while end_s / _FACTOR > max(_SHORTEST_S, 1.5 * elapsed_s):
            end_s /= _FACTOR
        if end_s == total_s:
            return left
        return replace(left, seconds=end_s - elapsed_s, time_carries_over=False)

    def share(self, moves: int, wanted: int, seconds: float) -> Limit | None:
        """Return the limit for each of several moves in a round, None if nothing is left.

        Rounds halve the moves until `wanted` are left, and take equally long. Without a limit of
        time and nodes, it is `seconds`.
        """
        left = self.left()
        if left is None:
            return None
        shares = moves * (1 + math.ceil(math.log2(moves / wanted)))
        nodes = None if left.simulations is None else max(1, left.simulations // shares)
        if left.seconds is not None:
            return Limit(left.seconds / shares, nodes)
        return Limit(seconds if nodes is None else None, nodes)
