"""Boards of the mancala games: two rows of pits with seeds, and a store for each player.

Player 1 has the lower row, whose pits are A, B, ... from the left, and player 2 the upper one,
whose pits are a, b, ... from the right. Seeds are sown in this order, anticlockwise.

In compiled code, the *row* of a player is a word: a byte for the seeds in each pit, from the first
pit on, and the byte STORE for the store. Sets of pits are bits. Tables have what a sowing adds to
both, so that a playout never looks at one pit after the other.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playout.games.core.game import State
from playout.games.core.grid import GridGame
from playout.games.core.kernels import Vector, helper, uncompiled
from playout.games.core.spec import Option
from playout.games.core.symmetries import Symmetry, identity
from playout.games.core.view import BoardView

MAX_HOUSES = MAX_SEEDS = 6
#: The places in which a player sows: the pits of the player from 0 on, the store of the player,
#: and the pits of the opponent.
STORE, OPPOSITE = 6, 8
_ONES = 0x0101010101010101
#: All pits of a row without the store: their bytes, and as a set.
PITS, _EVERY = (1 << 8 * MAX_HOUSES) - 1, (1 << MAX_HOUSES) - 1
Houses = Annotated[int, Option("pits of each player", ge=1, le=MAX_HOUSES)]
Seeds = Annotated[int, Option("seeds in each pit at the start", ge=1, le=MAX_SEEDS)]


@helper
def read_counts(numbers: Vector, counts: Vector, most: int) -> None:
    """Set the seeds in pits, or chips in heaps, to the numbers of a state; `most` bounds their sum.

    Of an invalid state, negative numbers and the excess over `most` are left out, so that playouts
    from it end as early as from any other position.
    """
    left = most
    for i in range(len(counts)):
        counts[i] = min(max(0, numbers[i]), left)
        left -= counts[i]


@helper
def row_of(counts: Vector) -> int:
    """Return the word of a row with these seeds."""
    row = 0
    for pit in range(len(counts)):
        row |= counts[pit] << 8 * pit
    return row


@helper
def write_row(row: int, counts: Vector) -> None:
    """Write the seeds in the pits of a row."""
    for pit in range(len(counts)):
        counts[pit] = row >> 8 * pit & 0xFF


@helper
def sums(row: int) -> int:
    """Return a word with the number of seeds from the first pit to each place of a row."""
    return row * _ONES


@helper
def total(row: int) -> int:
    """Return the number of seeds in a row and its store."""
    return sums(row) >> 56


@helper
def every_pit(houses: int) -> int:
    """Return the row with a seed in each pit."""
    return _ONES & (1 << 8 * houses) - 1


@helper
def filled(row: int) -> int:
    """Return the pits with seeds, as bits."""
    high = (row & PITS) + 127 * _ONES & 128 * _ONES
    return (high >> 7) * 0x0102040810204080 >> 56 & _EVERY


class Sowings(NamedTuple):
    """Changes of the rows by sowings; the index of each array is the number of `sowing_of`."""

    own: NDArray[np.int64]  # seeds in the row of the player
    other: NDArray[np.int64]  # seeds in the row of the opponent
    #: The pits that get seeds, as the bits of their places; the last place, from bit 16 on; and
    #: bit 24, unless that is the store.
    places: NDArray[np.int64]


@helper
def sowing_of(houses: int, pit: int, seeds: int) -> int:
    """Return the index of a sowing whose seeds do not reach the pit that they come from."""
    return (houses * MAX_HOUSES + pit) * 16 + seeds


def sowings(*, stores: bool) -> Sowings:
    """Return the sowings on boards of every size, into the pits or also into the player's store."""
    own, other, places = np.zeros((3, (MAX_HOUSES + 1) * MAX_HOUSES * 16), dtype=np.int64)
    for houses in range(1, MAX_HOUSES + 1):
        row = [*range(houses), *([STORE] if stores else [])]
        lap = [*row, *range(OPPOSITE, OPPOSITE + houses)]
        for pit, seeds in itertools.product(range(houses), range(len(lap))):
            path = [lap[(pit + n) % len(lap)] for n in range(seeds + 1)]
            at = uncompiled(sowing_of)(houses, pit, seeds)
            own[at] = sum(1 << 8 * place for place in path[1:] if place < OPPOSITE)
            other[at] = sum(1 << 8 * (place - OPPOSITE) for place in path[1:] if place >= OPPOSITE)
            places[at] = sum(1 << place for place in path[1:] if place != STORE) | path[-1] << 16
            places[at] |= (path[-1] != STORE) << 24
    return Sowings(own, other, places)


class PitsGame(GridGame):
    """A game on such a board; `pits` and `stores` have the words of both players in a state."""

    houses: int
    pits: tuple[Sequence[int], Sequence[int]]
    stores: tuple[int, int]

    rows = 2
    look: ClassVar = {"geometry": "pits", "piece": "seeds"}
    row_names = ()
    pieces = ()

    @functools.cached_property
    def cell_words(self) -> tuple[int, ...]:
        """The stores are at the ends of the rows: that of player 2 left, that of player 1 right."""
        first, second = self.pits
        return (self.stores[1], *reversed(second), -1, -1, *first, self.stores[0])

    @functools.cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        return (identity(2 * self.columns, self.num_actions),)  # half a turn exchanges the players

    def cell_name(self, cell: int) -> str:
        word = self.cell_words[cell]
        for pits, letters in zip(self.pits, (ascii_uppercase, ascii_lowercase), strict=True):
            if word in pits:
                return letters[pits.index(word)]
        return "store" if word in self.stores else ""

    def numbers(self, state: State) -> tuple[int, ...]:
        return tuple(state[word] if word >= 0 else 0 for word in self.cell_words)

    def cells(self, state: State) -> tuple[int, ...]:
        seeds = self.numbers(state)
        return tuple((1 + (cell < self.columns)) * (n > 0) for cell, n in enumerate(seeds))

    def view(self, state: State) -> BoardView:
        labels = tuple(map(self.cell_name, range(2 * self.columns)))
        view = super().view(state)
        return dataclasses.replace(view, cell_labels=labels, counts=self.numbers(state))
