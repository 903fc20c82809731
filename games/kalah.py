"""Kalah, the mancala game that OpenSpiel calls mancala.

The pits and stores are numbered in the direction of sowing: 0 is the store of player 2, then come
the pits of player 1, the store of player 1, and the pits of player 2. An action is the number of
the pit from which seeds are sown.
"""

from __future__ import annotations

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

# board: player, outcome, pits of each player, all seeds, then those in each pit and store
_HOUSES, _TOTAL, _PITS = 2, 3, 4


@helper
def store_of(board: Board, player: int) -> int:
    """Return the index of a player's store; the pits of player 2 follow the store of player 1."""
    return _PITS + (board[_HOUSES] + 1) * (2 - player)


@helper
def first_pit(board: Board, player: int) -> int:
    """Return the place of a player's first pit."""
    return store_of(board, 3 - player) + 1


@helper
def playable(board: Board, player: int) -> int:
    """Return the number of a player's pits that have seeds."""
    first = first_pit(board, player)
    n = 0
    for place in range(first, first + board[_HOUSES]):
        n += board[place] > 0
    return n


@helper
def set_outcome(board: Board) -> None:
    """Count all seeds of each side for its player."""
    lead = 0
    for place in range(_PITS, len(board)):
        is_first = _PITS < place <= store_of(board, 1)
        lead += board[place] if is_first else -board[place]
    board[1] = outcome_of(lead)


@kernel
def start(board: Board, params: Vector) -> None:
    houses, seeds = params
    board[0] = 1
    board[1] = 0
    board[_HOUSES] = houses
    board[_TOTAL] = 2 * houses * seeds
    board[_PITS:] = seeds
    board[store_of(board, 1)] = board[store_of(board, 2)] = 0


@kernel
def legal(board: Board, actions: Vector) -> int:
    n = 0
    first = first_pit(board, board[0])
    for place in range(first, first + board[_HOUSES]):
        if board[1] == 0 and board[place] > 0:
            actions[n] = place - _PITS
            n += 1
    return n


@kernel
def play(board: Board, action: int) -> None:
    player = board[0]
    store, skipped = store_of(board, player), store_of(board, 3 - player)
    first, end = skipped + 1, _PITS + 2 * (board[_HOUSES] + 1)
    place = _PITS + action
    seeds = board[place]
    board[place] = 0
    while seeds > 0:
        place = place + 1 if place + 1 < end else _PITS
        if place != skipped:
            board[place] += 1
            seeds -= 1
    if first <= place < first + board[_HOUSES] and board[place] == 1:
        opposite = _PITS + end - place
        if board[opposite] > 0:
            board[store] += 1 + board[opposite]
            board[place] = board[opposite] = 0
    if place != store:
        board[0] = 3 - player
    if playable(board, 1) == 0 or playable(board, 2) == 0:
        set_outcome(board)


@inlined_helper
def choose(board: Board, state: np.uint64) -> int:
    """Return a random pit with seeds of the player to move."""
    pick = below(state, playable(board, board[0]))
    place = first_pit(board, board[0])
    while pick > 0 or board[place] == 0:
        pick -= board[place] > 0
        place += 1
    return place - _PITS


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
    read_counts(state[2:], board[_PITS:], board[_TOTAL])


class Kalah(KernelGame):
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
    about_parameters: ClassVar = PARAMETERS
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

    kernels = Kernels(start, legal, play, playout, write, read)

    def __init__(self, houses: int = 6, seeds: int = 4) -> None:
        self.houses = checked("kalah", "houses", houses, 1, MAX_HOUSES)
        checked("kalah", "seeds", seeds, 1, MAX_SEEDS)
        places = 2 * (houses + 1)
        # Each seed enters a store once. Until one does, nothing is sown into a player's first pit,
        # so it is played once; the pits before it are played 1 + 2 + ... times in all, and a seed
        # from the last pit always enters the store.
        moves_of_both = 2 * (2 ** (houses - 1) - 1) + 1
        super().__init__(
            (houses, seeds),
            board=_PITS + places,
            state=2 + places,
            actions=places,
            plies=2 * houses * seeds * moves_of_both,
        )

    def pit_of(self, action: int) -> tuple[int, int]:
        """Return the player and the pit of an action, counted from 0."""
        return (1, action - 1) if action <= self.houses else (2, action - self.houses - 2)

    def action_name(self, state: State, action: int) -> str:
        return pit_name(*self.pit_of(action))

    def view(self, state: State) -> BoardView:
        store, end = 2 + self.houses + 1, len(state)
        actions = {action: self.pit_of(action) for action in self.legal_actions(state)}
        return pits_view(
            (state[3:store], state[store + 1 : end]), (state[store], state[2]), actions
        )
