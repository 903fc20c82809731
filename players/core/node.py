"""An exported search tree: plain values, without nodes that have too few visits or lie too deep."""

from __future__ import annotations

from dataclasses import dataclass

#: Depth of an exported tree, in plies below the root. Python and most JSON readers fail on much
#: deeper nesting.
MAX_DEPTH = 100


@dataclass(frozen=True)
class Node:
    """A position that a search has visited.

    `win_rate`, `amaf` (from 0 to 1, a tie counts one half) and `proven` (1, 0, -1 for a win, a tie,
    a loss with best play) are from the view of the player who made the last move. `amaf` is the
    mean of the `amaf_visits` playouts in which that player chose the action at any later time; None
    if the search does not record it.

    A search guided by a net has in `prior` the policy's probability of the action, and in
    `exploration` what PUCT adds to its value, on a scale from -1 to 1, when it selects the action.
    """

    action: int | None  # None at the root
    visits: int
    win_rate: float
    amaf: float | None = None
    amaf_visits: int = 0
    proven: int | None = None
    children: tuple[Node, ...] = ()  # the most visited first
    prior: float | None = None
    exploration: float | None = None
