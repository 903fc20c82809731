"""Oware (awari), with the actions and the rules of OpenSpiel.

Action a sows the seeds of the player's pit a. A position that repeats ends the game, and each
player gets the seeds of their row; the same holds after 300 moves in a row without a capture, where
OpenSpiel has a limit of 1,000 moves in all.
"""

from __future__ import annotations

import math
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
from playout.games.core.kernels import (
    count_again,
    forget,
    inlined_helper,
    outcome_of,
    remember,
    visits,
)
from playout.games.core.pits import (
    MAX_HOUSES,
    MAX_SEEDS,
    OPPOSITE,
    PITS,
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
    sums,
    total,
    write_row,
)
from playout.games.core.random import DRAWN, GAMMA, Rng, below, one_of

#: Moves in a row without a capture that end the game.
QUIET_PLIES = 300

# board: player, outcome, pits of each player, seeds at the start, earlier positions since the last
# capture, the number of the position, the rows of player 1 and player 2, with the seeds that they
# have captured in the stores, and the numbers of the earlier positions, filled up with 0. The
# player to move in a position follows from its index.
_HOUSES, _TOTAL, _EARLIER, _NUMBER, _ROWS, _HISTORY = 2, 3, 4, 5, 6, 8

_OWN, _OTHER, _PLACES = sowings(stores=False)

#: For bar k and place n at k * _MOST + n, the number of ways to choose k + 1 of n + k things.
_MOST = 2 * MAX_HOUSES * MAX_SEEDS + 1
_CHOICES = np.array([math.comb(n + k, k + 1) for k in range(2 * MAX_HOUSES) for n in range(_MOST)])
#: A multiplier that distributes the numbers of positions evenly.
_SPREAD = 0x5851F42D4C957F2D


@helper
def number(first: int, second: int, houses: int) -> int:
    """Return a number, 1 or greater, that no other position with as many seeds has.

    Written as a row of seeds with a bar between two pits, a position is a choice of places for the
    bars: its number in the combinatorial number system. A place is the number of seeds before it.
    """
    places = sums(first) & (1 << 8 * houses) - 1
    later = sums(second) + every_pit(houses) * total(first & PITS) & (1 << 8 * (houses - 1)) - 1
    n = 1
    for bar in range(MAX_HOUSES):
        n += _CHOICES[np.uint64(bar * _MOST + (places >> 8 * bar & 0xFF))]
        n += _CHOICES[np.uint64((houses + bar) * _MOST + (later >> 8 * bar & 0xFF))]
    return n


@helper
def movable(own: int, other: int, houses: int) -> int:
    """Return the pits from which the player to move can sow, as bits.

    A player must not leave the opponent without seeds.
    """
    pits = filled(own)
    if other & PITS == 0:
        for pit in range(houses):
            if own >> 8 * pit & 0xFF < houses - pit:
                pits &= ~(1 << pit)
    return pits


@helper
def sow(own: int, other: int, houses: int, pit: int) -> tuple[int, int, int]:
    """Sow the seeds of a pit, not into the pit; return both rows, and the places of the sowing."""
    seeds, places = own >> 8 * pit & 0xFF, 0
    own ^= seeds << 8 * pit
    while seeds >= 2 * houses:
        seeds -= 2 * houses - 1
        own += every_pit(houses) ^ 1 << 8 * pit
        other += every_pit(houses)
        places = (1 << houses) - 1 << OPPOSITE | (1 << houses) - 1 & ~(1 << pit)
    n = np.uint64(sowing_of(houses, pit, seeds))
    return own + _OWN[n], other + _OTHER[n], places | _PLACES[n]


@helper
def captures(other: int, last: int) -> bool:
    """Return whether the last pit is the opponent's, and has two or three seeds."""
    pit = last - OPPOSITE if last >= OPPOSITE else 7  # a byte without seeds
    return other >> 8 * pit & 0xFE == 2


@helper
def capture(own: int, other: int, last: int) -> tuple[int, int]:
    """Capture twos and threes from the last pit backwards, but not all seeds; return both rows."""
    taken, pit = 0, last - OPPOSITE
    while pit >= 0 and other >> 8 * pit & 0xFE == 2:
        taken |= other & 0xFF << 8 * pit
        pit -= 1
    if taken == other & PITS:
        taken = 0
    return own + (total(taken) << 8 * STORE), other - taken


@helper
def is_decided(own: int, other: int, half: int) -> bool:
    """Return whether a player has captured more than half of the seeds, or both have half."""
    mine, theirs = own >> 8 * STORE, other >> 8 * STORE
    return mine > half or theirs > half or mine == theirs == half


@helper
def finish(board: Board) -> None:
    """Give each player the seeds of their row, and set the outcome."""
    first, second = total(board[_ROWS]), total(board[_ROWS + 1])
    board[_ROWS], board[_ROWS + 1] = first << 8 * STORE, second << 8 * STORE
    board[_NUMBER] = 1
    forget(board, _EARLIER, _HISTORY)
    board[1] = outcome_of(first - second)


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    own, other = board[_ROWS + board[0] - 1], board[_ROWS + 2 - board[0]]
    return write_bits(movable(own, other, board[_HOUSES]), 0, actions, 0)


@kernel
def play(board: Board, action: int) -> None:
    player, houses = board[0], board[_HOUSES]
    remember(board, _EARLIER, _HISTORY, board[_NUMBER])
    mine, theirs = _ROWS + player - 1, _ROWS + 2 - player
    own, other, places = sow(board[mine], board[theirs], houses, action)
    last = places >> 16 & 0xFF
    if captures(other, last):
        before = own
        own, other = capture(own, other, last)
        if own != before:
            forget(board, _EARLIER, _HISTORY)
    board[mine], board[theirs] = own, other
    board[_NUMBER] = number(board[_ROWS], board[_ROWS + 1], houses)
    board[0] = 3 - player
    decided = is_decided(own, other, board[_TOTAL] // 2)
    repeated = visits(board, _EARLIER, _HISTORY, board[_NUMBER], 2) > 0
    if decided or repeated or board[_EARLIER] >= QUIET_PLIES or movable(other, own, houses) == 0:
        finish(board)


@inlined_helper
def mark(position: int) -> int:
    """Return a word with one bit, for a set of positions that may also have others."""
    return 1 << (position * _SPREAD >> 58 & 63)


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    if board[1]:
        return 0
    player, houses, half, state = board[0], board[_HOUSES], board[_TOTAL] // 2, rng[0]
    own, other = board[_ROWS + player - 1], board[_ROWS + 2 - player]
    here = board[_NUMBER]
    # Marks of the earlier positions with this player to move, and with the other.
    seen = seen_after = 0
    for i in range(board[_EARLIER]):
        seen, seen_after = seen_after, seen | mark(board[_HISTORY + i])
    mine, theirs = filled(own), filled(other)
    ply, earlier = 0, board[_EARLIER]
    most = earlier
    state += GAMMA
    drawn = below(state, DRAWN)
    while earlier < QUIET_PLIES:
        pits = mine
        if theirs == 0:
            pits = movable(own, other, houses)
        if pits == 0:
            break
        board[_HISTORY + earlier] = here
        earlier += 1
        most = max(most, earlier)
        seen, seen_after = seen_after, seen | mark(here)
        pit = one_of(pits, drawn)
        state += GAMMA
        drawn = below(state, DRAWN)
        trace[ply] = pit
        ply += 1
        own, other, places = sow(own, other, houses, pit)
        mine = mine & ~(1 << pit) | places & 0xFF
        theirs |= places >> OPPOSITE & 0xFF
        last = places >> 16 & 0xFF
        if captures(other, last):
            before = own
            own, other = capture(own, other, last)
            theirs = filled(other)
            if own != before:
                earlier = seen = seen_after = 0
        own, other, mine, theirs, player = other, own, theirs, mine, 3 - player
        if earlier == 0 and is_decided(own, other, half):
            break
        first = own if player == 1 else other
        here = number(first, own ^ other ^ first, houses)
        if seen & mark(here):
            board[_EARLIER] = earlier
            if visits(board, _EARLIER, _HISTORY, here, 2):
                break
    rng[0] = state
    board[0], board[_EARLIER] = player, most
    board[_ROWS + player - 1], board[_ROWS + 2 - player] = own, other
    finish(board)
    return ply


@kernel
def write(board: Board, state: Vector) -> None:
    houses = board[_HOUSES]
    first, second, scores = board[_ROWS], board[_ROWS + 1], 2 + 2 * houses
    state[:2] = board[:2]
    write_row(first, state[2 : 2 + houses])
    write_row(second, state[2 + houses : scores])
    state[scores], state[scores + 1] = first >> 8 * STORE, second >> 8 * STORE
    state[scores + 2 :] = board[_HISTORY:]


@kernel
def read(state: Vector, board: Board) -> None:
    houses, rest = board[_HOUSES], state[2:]
    counts = np.empty(2 * houses + 2, dtype=np.int64)
    read_counts(rest, counts, board[_TOTAL])
    board[:2] = state[:2]
    board[_ROWS] = row_of(counts[:houses]) | counts[-2] << 8 * STORE
    board[_ROWS + 1] = row_of(counts[houses:-2]) | counts[-1] << 8 * STORE
    board[_NUMBER] = number(board[_ROWS], board[_ROWS + 1], houses)
    board[_HISTORY:] = rest[2 * houses + 2 :]
    count_again(board, _EARLIER, _HISTORY, QUIET_PLIES - 1)


class Oware(PitsGame):
    """Sow seeds around the board, and capture pits of two or three; the player with more wins."""

    about = (
        "Each player has a row of pits with seeds. In turn, a player takes all seeds from one of "
        "their pits and sows them one by one into the following pits, anticlockwise, but not into "
        "the pit that they come from. If the last pit is the opponent's and then has two or three "
        "seeds, they are captured, and so are those of the pits before it, as long as they are "
        "the opponent's and have two or three. If these are all seeds of the opponent, none is "
        "captured. A player whose opponent has no seeds must sow some into the opponent's row. "
        "The player who captures more than half of the seeds wins. If the player to move cannot "
        f"move, if a position repeats, or after {QUIET_PLIES} moves without a capture, each player "
        "gets the seeds in their own row."
    )
    groups = ("classics", "capture")
    first_steps = (
        "Click one of your pits, in the lower row if you move first, to sow its seeds. Aim "
        "the last seed at a pit of the opponent that has one or two. Pits with three or more "
        "seeds are safe, and a pit with twelve or more reaches around the board."
    )
    variants: ClassVar = {
        "houses=4,seeds=3": "A short match.",
    }

    action_cells = ()

    kernels = Kernels(legal, play, playout, write, read)

    def __init__(self, houses: Houses = 6, seeds: Seeds = 4) -> None:
        self.houses = houses
        self.columns = houses + 2
        self.pits = range(2, 2 + houses), range(2 + houses, 2 + 2 * houses)
        self.stores = 2 + 2 * houses, 3 + 2 * houses
        # A capture takes two seeds or more.
        super().__init__(
            {_HOUSES: houses, _TOTAL: 2 * houses * seeds},
            (1, 0, *[seeds] * 2 * houses),
            board=_HISTORY + QUIET_PLIES,
            state=2 + 2 * houses + 2 + QUIET_PLIES,
            actions=houses,
            plies=QUIET_PLIES * (houses * seeds + 1),
            earlier=QUIET_PLIES,
        )

    def clicked(self, state: State, action: int) -> tuple[int, ...]:
        return (self.cell_words.index(self.pits[state[0] - 1][action]),)
