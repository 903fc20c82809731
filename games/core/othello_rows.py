"""Othello on boards above 8x8: functions that the kernels of the game call.

The words of a board after the first seven, which `playout.games.othello` describes, are the moves
of the player to move, four rows in a word with 16 bits each, and a word for each row of player 1
and of player 2, between empty ones. Column c is bit c of a row.
"""

from __future__ import annotations

import numpy as np

from playout.games.core.bits import count, nth
from playout.games.core.kernels import Board, Vector, at, helper, outcome_of
from playout.games.core.random import GAMMA, Rng, below

SIZE, PASSES, CELLS, MOVES = 4, 5, 6, 7

MAX_SIDE = 16
FIRST, HEIGHT = MOVES + 5, MAX_SIDE + 2

_0, _1, _16 = np.uint64(0), np.uint64(1), np.uint64(16)

#: The cells of four rows without the first and the last column of the largest board.
_MIDDLE = np.uint64(0x7FFE7FFE7FFE7FFE)


@helper
def row_of(player: int, row: int) -> int:
    """Return the index of a row of a player's discs."""
    return FIRST + (player - 1) * HEIGHT + row


@helper
def find_below(board: Board, player: int, way: int) -> None:
    """Add the moves below discs of the opponent that are below one of the player.

    The rows are passed from the first to the last, or with -1 as the `way` in reverse.
    """
    size = board[SIZE]
    row = 0 if way == 1 else size - 1
    own = left = middle = right = 0
    for _ in range(size):
        ends = (left >> 1 | middle | right << 1) & 0xFFFF
        board[MOVES + (row >> 2)] |= ends << 16 * (row & 3)
        other = at(board, row_of(3 - player, row))
        left = (left | own) >> 1 & other
        middle = (middle | own) & other
        right = (right | own) << 1 & other
        own = at(board, row_of(player, row))
        row += way


@helper
def find_beside(own: np.uint64, other: np.uint64) -> np.uint64:
    """Return the ends of runs of `other` beside `own`, for four rows."""
    crossed = other & _MIDDLE
    ends = crossed + (own << _1 & crossed)  # the sum carries through the run
    run, step = crossed & own >> _1, _1
    for _ in range(4):
        run |= crossed & run >> step
        crossed &= crossed >> step
        step += step
    return ends | run >> _1


@helper
def find_moves(board: Board, player: int) -> int:
    """Write the cells where a player may put a disc; return how many they are."""
    size = board[SIZE]
    for word in range(4):
        board[MOVES + word] = 0
    find_below(board, player, 1)
    find_below(board, player, -1)
    n = 0
    for word in range(size + 3 >> 2):
        own = other = _0
        for row in range(4 * word + 3, 4 * word - 1, -1):
            own = own << _16 | np.uint64(at(board, row_of(player, row)))
            other = other << _16 | np.uint64(at(board, row_of(3 - player, row)))
        moves = np.uint64(board[MOVES + word]) | find_beside(own, other)
        moves &= np.uint64(board[CELLS]) & ~(own | other)
        board[MOVES + word] = np.int64(moves)
        n += count(moves)
    return n


@helper
def nth_move(board: Board, n: int) -> int:
    """Return the number of a move's bit, 16 per row, for the n-th move counted from 0."""
    word = 0
    moves = count(board[MOVES])
    while n >= moves:
        n -= moves
        word += 1
        moves = count(board[MOVES + word])
    return 64 * word + nth(board[MOVES + word], n)


@helper
def put_disc(board: Board, player: int, bit: int) -> None:
    """Put a disc of a player, and turn what it encloses."""
    own, other = row_of(player, bit >> 4), row_of(3 - player, bit >> 4)
    disc = 1 << (bit & 15)
    for down in range(-1, 2):
        for right in range(-1, 2):
            n, cell = 1, disc << 1 + right >> 1
            while board[other + n * down] & cell:
                n += 1
                cell = cell << 1 + right >> 1
            if n > 1 and board[own + n * down] & cell:
                while n > 1:
                    n -= 1
                    cell = cell << 1 >> 1 + right
                    board[own + n * down] |= cell
                    board[other + n * down] ^= cell
    board[own] |= disc


@helper
def end(board: Board) -> None:
    """Set the outcome of a match that is over."""
    lead = 0
    for row in range(board[SIZE]):
        lead += count(board[row_of(1, row)]) - count(board[row_of(2, row)])
    board[1] = outcome_of(lead)


@helper
def play_large(board: Board, action: int) -> None:
    """Play a move or a pass, and set the outcome if the game is over."""
    player, size = board[0], board[SIZE]
    if action < size * size:
        put_disc(board, player, action // size * 16 + action % size)
    board[0] = mover = 3 - player
    n = 0
    for _ in range(1 + board[PASSES]):
        n = find_moves(board, mover)
        if n:
            break
        mover = 3 - mover
    if n == 0:
        end(board)
    elif mover == player:
        for word in range(4):
            board[MOVES + word] = 0


@helper
def playout_large(board: Board, rng: Rng, trace: Vector) -> int:
    """Play random moves to the end; return their number."""
    player, size = board[0], board[SIZE]
    state = rng[0]
    ply = n = 0
    for word in range(4):
        n += count(board[MOVES + word])
    passed = False
    while n or (board[PASSES] and not passed):
        trace[ply] = size * size
        passed = n == 0
        if n:
            state += GAMMA
            bit = nth_move(board, below(state, n))
            trace[ply] = (bit >> 4) * size + (bit & 15)
            put_disc(board, player, bit)
        ply += 1
        player = 3 - player
        n = find_moves(board, player)
    if passed:  # the match was over before
        ply -= 1
        player = 3 - player
    rng[0] = state
    board[0] = player
    end(board)
    return ply
