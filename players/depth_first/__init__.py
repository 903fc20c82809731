"""Depth-first searches: those of the players minimax and alphabeta.

Here is what the two searches of alphabeta share, so that each is compiled only when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

#: Plies of a search, at most.
MOST_PLIES = 80
#: The row of the history that has the nodes below each action of the root.
ROOT = 0
#: Fields of the state: nodes so far, the number of nodes to stop at, whether it was stopped.
NODES, LAST, STOPPED = range(3)


class SearchFunctions(NamedTuple):
    """The functions of a search with an evaluation, which depend on the kind of rules."""

    start: Callable[[Any, Any, int], None]
    best_action: Callable[[Any, Any], int | None]  # of a board that was searched before
    search_root: Callable[..., int]
    first_look: Callable[..., int] | None  # in plain Python, where rules are slow
    expected_of: Callable[[int], float]
    certain: int  # values beyond it are proven results
