"""Positions since the last irreversible move, for games in which a repeated position is special.

A board has their number at the index `count`. From the index `first` on, it has a number for each
of them, which is not 0, and zeros in the rest of the room.
"""

from __future__ import annotations

from playout.games.core.kernels import Board, helper, inlined_helper


@helper
def remember(board: Board, count: int, first: int, position: int) -> None:
    """Add the number of a position."""
    board[first + board[count]] = position
    board[count] += 1


@helper
def forget(board: Board, count: int, first: int) -> None:
    """Remove all positions, after an irreversible move."""
    for i in range(first, first + board[count]):
        board[i] = 0
    board[count] = 0


@inlined_helper
def visits(board: Board, count: int, first: int, position: int, step: int) -> int:
    """Return how often a position was there, `step` plies ago or a multiple of that."""
    n = 0
    for i in range(first + board[count] % step, first + board[count], step):
        n += board[i] == position
    return n


@helper
def count_again(board: Board, count: int, first: int, most: int) -> None:
    """Set the number of positions, at most `most`, from the positions themselves."""
    board[count] = 0
    while board[count] < most and board[first + board[count]]:
        board[count] += 1
