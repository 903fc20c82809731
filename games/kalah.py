"""Kalah, the mancala game that OpenSpiel calls mancala.

The pits and stores are numbered in the direction of sowing: 0 is the store of player 2, then come
the pits of player 1, the store of player 1, and the pits of player 2. An action is the number of
the pit from which seeds are sown.
"""

from __future__ import annotations

import functools
from typing import ClassVar

import numpy as np

from playout.games import (
    Board,
    Kernels,
    State,
    Vector,
    helper,
    kernel,
)
from playout.games.core.bits import write_bits
from playout.games.core.kernels import outcome_of
from playout.games.core.pits import (
    OPPOSITE,
    STORE,
    Houses,
    PitsGame,
    Seeds,
    every_pit,
    filled,
    read_counts,
    row_of,
    sowing_of,
    sowings,
    total,
    write_row,
)
from playout.games.core.random import DRAWN, GAMMA, Rng, below, one_of

# board: player, outcome, pits of each player, all seeds, the rows of player 1 and player 2
_HOUSES, _TOTAL, _ROWS = 2, 3, 4

_OWN, _OTHER, _PLACES = sowings(stores=True)


@helper
def first_action(player: int, houses: int) -> int:
    """Return the action of a player's first pit."""
    return 1 if player == 1 else houses + 2


@helper
def sow(own: int, other: int, houses: int, pit: int) -> tuple[int, int, int]:
    """Sow the seeds of a pit; return both rows, and the places of the sowing."""
    seeds, places = own >> 8 * pit & 0xFF, 0
    own ^= seeds << 8 * pit
    while seeds > 2 * houses:
        seeds -= 2 * houses + 1
        own += every_pit(houses) | 1 << 8 * STORE
        other += every_pit(houses)
        places = (1 << houses) - 1 << OPPOSITE | (1 << houses) - 1
    n = np.uint64(sowing_of(houses, pit, seeds))
    return own + _OWN[n], other + _OTHER[n], places | _PLACES[n]


@helper
def captured(own: int, other: int, houses: int, last: int) -> int:
    """Return how many seeds of the opponent the player captures with the last seed."""
    pit = last if last < STORE else 7  # a byte without seeds
    seeds = own >> 8 * pit & 0xFF
    is_alone = (seeds ^ 1) - 1 >> 8  # as a mask
    return is_alone & other >> (8 * (houses - 1 - pit) & 63) & 0xFF


@helper
def capture(own: int, other: int, houses: int, last: int, seeds: int) -> tuple[int, int]:
    """Move the last seed and those opposite into the store; return both rows."""
    own += (seeds + 1 << 8 * STORE) - (1 << 8 * last)
    return own, other - (seeds << 8 * (houses - 1 - last))


@helper
def finish(board: Board) -> None:
    """Set the outcome: all seeds of each side are its player's."""
    board[1] = outcome_of(total(board[_ROWS]) - total(board[_ROWS + 1]))


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    pits = filled(board[_ROWS + board[0] - 1])
    return write_bits(pits, first_action(board[0], board[_HOUSES]), actions, 0)


@kernel
def play(board: Board, action: int) -> None:
    player, houses = board[0], board[_HOUSES]
    mine, theirs = _ROWS + player - 1, _ROWS + 2 - player
    pit = action - first_action(player, houses)
    own, other, places = sow(board[mine], board[theirs], houses, pit)
    last = places >> 16 & 0xFF
    seeds = captured(own, other, houses, last)
    if seeds:
        own, other = capture(own, other, houses, last, seeds)
    board[mine], board[theirs] = own, other
    if last != STORE:
        board[0] = 3 - player
    if filled(own) == 0 or filled(other) == 0:
        finish(board)


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    player, houses, state = board[0], board[_HOUSES], rng[0]
    if board[1]:
        return 0
    own, other = board[_ROWS + player - 1], board[_ROWS + 2 - player]
    mine, theirs = filled(own), filled(other)
    first = first_action(player, houses)
    ply = 0
    while mine and theirs:
        state += GAMMA
        pit = one_of(mine, below(state, DRAWN))
        trace[ply] = first + pit
        ply += 1
        own, other, places = sow(own, other, houses, pit)
        mine = mine & ~(1 << pit) | places & 0xFF
        theirs |= places >> OPPOSITE & 0xFF
        last = places >> 16 & 0xFF
        seeds = captured(own, other, houses, last)
        if seeds:
            own, other = capture(own, other, houses, last, seeds)
            mine, theirs = filled(own), filled(other)
        # The players change places without a branch, which would be hard to predict.
        turn = -(places >> 24)
        first ^= (1 ^ houses + 2) & turn
        rows, pits = (own ^ other) & turn, (mine ^ theirs) & turn
        own, other, mine, theirs = own ^ rows, other ^ rows, mine ^ pits, theirs ^ pits
    rng[0] = state
    board[0] = 1 if first == 1 else 2
    board[_ROWS + board[0] - 1], board[_ROWS + 2 - board[0]] = own, other
    finish(board)
    return ply


@kernel
def write(board: Board, state: Vector) -> None:
    houses = board[_HOUSES]
    first, second = board[_ROWS], board[_ROWS + 1]
    state[:2] = board[:2]
    state[2], state[3 + houses] = second >> 8 * STORE, first >> 8 * STORE
    write_row(first, state[3 : 3 + houses])
    write_row(second, state[4 + houses :])


@kernel
def read(state: Vector, board: Board) -> None:
    houses = board[_HOUSES]
    counts = np.empty(len(state) - 2, dtype=np.int64)
    read_counts(state[2:], counts, board[_TOTAL])
    board[:2] = state[:2]
    board[_ROWS] = row_of(counts[1 : 1 + houses]) | counts[1 + houses] << 8 * STORE
    board[_ROWS + 1] = row_of(counts[2 + houses :]) | counts[0] << 8 * STORE


class Kalah(PitsGame):
    """Sow seeds around the board; the player with more seeds in their store wins."""

    about = (
        "Each player has a row of pits with seeds, and a store at its end. In turn, a player takes "
        "all seeds from one of their pits and sows them one by one into the following pits, "
        "anticlockwise: into their store too, but not into the opponent's. If the last seed falls "
        "into their store, the player moves again. If it falls into an empty pit of their row, "
        "with seeds in the opponent's pit opposite, it goes into their store together with those. "
        "When a player has no seeds in the pits, the opponent gets all seeds that are left, and "
        "the player with more seeds wins."
    )
    groups = ("classics", "capture")
    first_steps = (
        "Click one of your pits, in the lower row if you move first, to sow its seeds. A pit "
        "whose last seed falls into your store gives you another move: in the first move, "
        "that is pit C. Look for seeds of the opponent that stand opposite one of your empty "
        "pits."
    )
    variants: ClassVar = {
        "seeds=6": "Six seeds in each pit, as many clubs play.",
        "houses=4,seeds=3": "A short match.",
    }

    kernels = Kernels(legal, play, playout, write, read)

    def __init__(self, houses: Houses = 6, seeds: Seeds = 4) -> None:
        self.houses = houses
        self.columns = houses + 2
        self.stores = 3 + houses, 2
        self.pits = range(3, 3 + houses), range(4 + houses, 4 + 2 * houses)
        places = 2 * (houses + 1)
        # Each seed enters a store once. Until one does, nothing is sown into a player's first pit,
        # so it is played once; the pits before it are played 1 + 2 + ... times in all, and a seed
        # from the last pit always enters the store.
        moves_of_both = 2 * (2 ** (houses - 1) - 1) + 1
        super().__init__(
            {_HOUSES: houses, _TOTAL: 2 * houses * seeds},
            (1, 0, *[0, *[seeds] * houses] * 2),
            board=_ROWS + 2,
            state=2 + places,
            actions=places,
            plies=2 * houses * seeds * moves_of_both,
        )

    def numbers(self, state: State) -> tuple[int, ...]:
        """As in `PitsGame`; at the end, the stores have the seeds that were left in the pits."""
        if not state[1]:
            return super().numbers(state)
        swept = list(state)
        for store, pits in zip(self.stores, self.pits, strict=True):
            for pit in pits:
                swept[store] += state[pit]
                swept[pit] = 0
        return super().numbers(tuple(swept))

    @functools.cached_property
    def action_cells(self) -> tuple[tuple[int, ...], ...]:
        """For each action, the cell of its pit; () for the numbers of the stores."""
        return tuple(
            (self.cell_words.index(2 + action),) if 2 + action not in self.stores else ()
            for action in range(self.num_actions)
        )
