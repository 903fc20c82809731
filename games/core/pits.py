"""Boards of the mancala games: two rows of pits with seeds, and a store for each player.

Player 1 has the lower row, whose pits are A, B, ... from the left, and player 2 the upper one,
whose pits are a, b, ... from the right. Seeds are sown in this order, anticlockwise.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence

from playout.games.core.kernels import Vector, helper
from playout.games.core.view import BoardView

MAX_HOUSES = MAX_SEEDS = 6
#: The parameters of these games, for their `about_parameters`.
PARAMETERS = {
    "houses": f"pits of each player, 1 to {MAX_HOUSES}",
    "seeds": f"seeds in each pit at the start, 1 to {MAX_SEEDS}",
}


@helper
def read_counts(numbers: Vector, counts: Vector, most: int) -> None:
    """Set the seeds in pits, or chips in heaps, to the numbers of a state: `most` in all, at most.

    Of an invalid state, negative numbers and the excess over `most` are left out, so that playouts
    from it end as early as from any other position.
    """
    left = most
    for i in range(len(counts)):
        counts[i] = min(max(0, numbers[i]), left)
        left -= counts[i]


def pit_name(player: int, pit: int) -> str:
    """Return the name of a pit, counted from 0 in the direction of sowing."""
    return (string.ascii_uppercase if player == 1 else string.ascii_lowercase)[pit]


def pits_view(
    pits: Sequence[Sequence[int]], stores: Sequence[int], actions: Mapping[int, tuple[int, int]]
) -> BoardView:
    """Return the board with the seeds in the pits and stores of player 1 and player 2.

    `actions` maps each legal action to its player and pit. The stores are at the ends of the rows:
    that of player 2 on the left, that of player 1 on the right.
    """
    houses = len(pits[0])
    columns = houses + 2
    counts, labels = [0] * 2 * columns, [""] * 2 * columns
    for player, store in ((1, 2 * columns - 1), (2, 0)):
        counts[store], labels[store] = stores[player - 1], "store"
        for pit, seeds in enumerate(pits[player - 1]):
            place = _place(player, pit, houses)
            counts[place], labels[place] = seeds, pit_name(player, pit)
    return BoardView(
        2,
        columns,
        tuple((2 if place < columns else 1) if seeds else 0 for place, seeds in enumerate(counts)),
        {action: (_place(*pit, houses),) for action, pit in actions.items()},
        geometry="pits",
        piece="seeds",
        cell_labels=tuple(labels),
        counts=tuple(counts),
    )


def _place(player: int, pit: int, houses: int) -> int:
    """Return the cell of a pit in the view."""
    return houses + 3 + pit if player == 1 else houses - pit
