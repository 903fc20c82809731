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
    BoardView,
    KernelGame,
    Kernels,
    State,
    Vector,
    checked,
    helper,
    kernel,
)
from playout.games.core.bits import count, nth, write_bits
from playout.games.core.kernels import inlined_helper, outcome_of
from playout.games.core.pits import (
    MAX_HOUSES,
    MAX_SEEDS,
    PARAMETERS,
    pit_name,
    pits_view,
    read_counts,
)
from playout.games.core.playouts import random_playout
from playout.games.core.random import Rng, below
from playout.games.core.repetition import count_again, forget, remember, visits

#: Moves in a row without a capture that end the game.
QUIET_PLIES = 300

# board: player, outcome, pits of each player, seeds at the start, earlier positions since the last
# capture; the seeds in the pits of player 1 and player 2, then those that both have captured, and
# the numbers of these positions, filled up with 0. The player to move in a position follows from
# its index.
_HOUSES, _TOTAL, _EARLIER, _PITS = 2, 3, 4, 5

_MOST = 2 * MAX_HOUSES * (MAX_SEEDS + 1)
#: _CHOICES[n, k]: the number of ways to choose k of n things.
_CHOICES = np.array([[math.comb(n, k) for k in range(2 * MAX_HOUSES)] for n in range(_MOST)])


@helper
def number(board: Board) -> int:
    """Return a number, 1 or greater, that no other position with as many seeds has.

    Written as a row of seeds with a bar between two pits, a position is a choice of places for the
    bars: its number in the combinatorial number system.
    """
    total, place = 1, 0
    for bar in range(2 * board[_HOUSES] - 1):
        place += board[_PITS + bar]
        total += _CHOICES[place + bar, bar + 1]
    return total


@helper
def seeds_of(board: Board, player: int) -> int:
    """Return the number of seeds in a player's row."""
    first = _PITS + (player - 1) * board[_HOUSES]
    n = 0
    for place in range(first, first + board[_HOUSES]):
        n += board[place]
    return n


@helper
def scores_at(board: Board) -> int:
    """Return where the seeds that player 1 has captured are; those of player 2 follow."""
    return _PITS + 2 * board[_HOUSES]


@helper
def fewest(board: Board, pit: int) -> int:
    """Return how many seeds a pit must have so that the player to move can sow from it.

    A player must not leave the opponent without seeds.
    """
    return 1 if seeds_of(board, 3 - board[0]) else board[_HOUSES] - pit


@helper
def movable(board: Board) -> int:
    """Return the pits from which the player to move can sow, as bits."""
    first = _PITS + (board[0] - 1) * board[_HOUSES]
    pits = 0
    for pit in range(board[_HOUSES]):
        if board[first + pit] >= fewest(board, pit):
            pits |= 1 << pit
    return pits


@helper
def history_at(board: Board) -> int:
    """Return where the earlier positions are."""
    return _PITS + 2 * board[_HOUSES] + 2


@helper
def sow(board: Board, pit: int) -> int:
    """Sow the seeds of a pit, not into the pit itself; return the last pit."""
    seeds, place = board[_PITS + pit], pit
    board[_PITS + pit] = 0
    while seeds > 0:
        place = place + 1 if place + 1 < 2 * board[_HOUSES] else 0
        if place != pit:
            board[_PITS + place] += 1
            seeds -= 1
    return place


@helper
def capture(board: Board, last: int) -> int:
    """Capture twos and threes from the last pit backwards, but not all seeds; return how many."""
    first = (2 - board[0]) * board[_HOUSES]
    captured, place = 0, last
    while first <= place < first + board[_HOUSES] and 2 <= board[_PITS + place] <= 3:
        captured += board[_PITS + place]
        place -= 1
    if captured == seeds_of(board, 3 - board[0]):
        return 0
    board[_PITS + place + 1 : _PITS + last + 1] = 0
    board[scores_at(board) + board[0] - 1] += captured
    return captured


@helper
def finish(board: Board) -> None:
    """Give each player the seeds of their row, and set the outcome."""
    scores = scores_at(board)
    for player in (1, 2):
        board[scores + player - 1] += seeds_of(board, player)
    board[_PITS:scores] = 0
    forget(board, _EARLIER, history_at(board))
    board[1] = outcome_of(board[scores] - board[scores + 1])


@kernel
def start(board: Board, params: Vector) -> None:
    houses, seeds = params
    board[:] = 0
    board[0] = 1
    board[_HOUSES] = houses
    board[_TOTAL] = 2 * houses * seeds
    board[_PITS : scores_at(board)] = seeds


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    return write_bits(movable(board), 0, actions, 0)


@kernel
def play(board: Board, action: int) -> None:
    scores, history, half = scores_at(board), history_at(board), board[_TOTAL] // 2
    remember(board, _EARLIER, history, number(board))
    if capture(board, sow(board, (board[0] - 1) * board[_HOUSES] + action)):
        forget(board, _EARLIER, history)
    board[0] = 3 - board[0]
    first, second = board[scores], board[scores + 1]
    decided = first > half or second > half or first == second == half
    repeated = visits(board, _EARLIER, history, number(board), 2) > 0
    if decided or repeated or board[_EARLIER] >= QUIET_PLIES or movable(board) == 0:
        finish(board)


@inlined_helper
def choose(board: Board, state: np.uint64) -> int:
    """Return a random pit from which the player to move can sow."""
    pits = movable(board)
    return nth(pits, below(state, count(pits)))


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    return random_playout(board, rng, trace, choose, play)


@kernel
def write(board: Board, state: Vector) -> None:
    state[:2] = board[:2]
    state[2:] = board[_PITS:]


@kernel
def read(state: Vector, board: Board) -> None:
    board[:2] = state[:2]
    history = history_at(board)
    board[history:] = state[2 + history - _PITS :]
    read_counts(state[2:], board[_PITS:history], board[_TOTAL])
    count_again(board, _EARLIER, history, QUIET_PLIES - 1)


class Oware(KernelGame):
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
    about_parameters: ClassVar = PARAMETERS
    first_steps = (
        "Click one of your pits, in the lower row if you move first, to sow its seeds. Aim "
        "the last seed at a pit of the opponent that has one or two. Pits with three or more "
        "seeds are safe, and a pit with twelve or more reaches around the board."
    )
    variants: ClassVar = {
        "houses=4,seeds=3": "A short match.",
    }

    kernels = Kernels(start, legal, play, playout, write, read)

    def __init__(self, houses: int = 6, seeds: int = 4) -> None:
        self.houses = checked("oware", "houses", houses, 1, MAX_HOUSES)
        checked("oware", "seeds", seeds, 1, MAX_SEEDS)
        words = 2 * houses + 2 + QUIET_PLIES
        # A capture takes two seeds or more.
        super().__init__(
            (houses, seeds),
            board=_PITS + words,
            state=2 + words,
            actions=houses,
            plies=QUIET_PLIES * (houses * seeds + 1),
            earlier=QUIET_PLIES,
        )

    def action_name(self, state: State, action: int) -> str:
        return pit_name(state[0], action)

    def view(self, state: State) -> BoardView:
        first, second = 2 + self.houses, 2 + 2 * self.houses
        actions = {action: (state[0], action) for action in self.legal_actions(state)}
        return pits_view((state[2:first], state[first:second]), state[second : second + 2], actions)
