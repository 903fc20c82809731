"""A search tree as it is shown: plain values, cut off where nodes are too rare or too deep."""

from __future__ import annotations

from dataclasses import dataclass

#: So many plies below the root a shown tree ends: what is nested much deeper, neither Python nor
#: most readers of JSON can follow.
MOST_DEPTH = 100


@dataclass(frozen=True)
class Node:
    """A position that a search has looked at.

    `win_rate`, `amaf` (from 0 to 1, a tie counting one half) and `proven` (1, 0, -1 for a win, a
    tie, a loss with best play) are of the player who moved into it; at the root, of the player who
    moved before. `amaf` is the mean of the `amaf_visits` playouts in which that player chose the
    action at any later time; None where it is not kept.
    """

    action: int | None  # None at the root
    visits: int
    win_rate: float
    amaf: float | None = None
    amaf_visits: int = 0
    proven: int | None = None
    children: tuple[Node, ...] = ()  # the most visited first
