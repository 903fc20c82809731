"""Othello on boards above 8x8, which are arrays of cells."""

from __future__ import annotations

import numpy as np

from games.core.kernels import Board, Vector, helper
from games.core.random import GAMMA, Rng, below
from games.discs.layout import FIRST, PASSES, SIZE, STRIDE, winner

_WAYS = np.array([-STRIDE - 1, -STRIDE, -STRIDE + 1, -1, 1, STRIDE - 1, STRIDE, STRIDE + 1])


@helper
def place_of(cell: int, size: int) -> int:
    """Return the number of a cell in the board."""
    return FIRST + cell // size * STRIDE + cell % size


@helper
def enclosed(board: Board, place: int, way: int, player: int) -> int:
    """Return how many discs a disc of the player on `place` encloses in one direction."""
    n = 0
    place += way
    while board[place] == 3 - player:
        n += 1
        place += way
    return n if board[place] == player else 0


@helper
def next_move(board: Board, player: int, cell: int) -> int:
    """Return the first cell from `cell` on where a player may put a disc, or size² for none."""
    size = board[SIZE]
    while cell < size * size:
        place = place_of(cell, size)
        if board[place] == 0:
            for way in _WAYS:
                if enclosed(board, place, way, player):
                    return cell
        cell += 1
    return cell


@helper
def list_moves(board: Board, actions: Vector, begin: int) -> int:
    """Write the moves of the player to move to actions[begin:], without a pass; return how many."""
    player, cells = board[0], board[SIZE] ** 2
    n = 0
    cell = next_move(board, player, 0)
    while cell < cells:
        actions[begin + n] = cell
        n += 1
        cell = next_move(board, player, cell + 1)
    return n


@helper
def play_cells(board: Board, action: int) -> None:
    """Play a move or a pass, and set the outcome if the game is over."""
    player, size = board[0], board[SIZE]
    board[0] = 3 - player
    if action == size * size:
        return
    place = place_of(action, size)
    for way in _WAYS:
        for n in range(enclosed(board, place, way, player)):
            board[place + (n + 1) * way] = player
    board[place] = player
    if next_move(board, 3 - player, 0) < size * size:
        return
    if board[PASSES] and next_move(board, player, 0) < size * size:
        return
    lead = 0
    for cell in range(size * size):
        owner = board[place_of(cell, size)]
        lead += (owner == 1) - (owner == 2)
    board[1] = winner(lead)


@helper
def playout_cells(board: Board, rng: Rng, trace: Vector) -> int:
    """Play random moves to the end; return their number.

    `trace` has room for two plies a cell, so the moves to choose from fit behind those played.
    """
    state = rng[0]
    ply = 0
    while board[1] == 0:
        n = list_moves(board, trace, ply)
        state += GAMMA
        action = trace[ply + below(state, n)] if n else board[SIZE] ** 2
        trace[ply] = action
        ply += 1
        play_cells(board, action)
    rng[0] = state
    return ply
