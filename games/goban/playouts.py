"""Random matches of Go: legal moves that fill no eye of the player, to the end by the rules.

A playout passes when there is no such move, and also when one side has more stones than the other
by a third of the points: both players then pass, and the position is scored.
"""

from __future__ import annotations

from games.core.kernels import Board, Vector, helper, inlined_helper, kernel
from games.core.random import Rng
from games.goban.chains import prepare, put, random_point
from games.goban.layout import (
    BLACK,
    EMPTY,
    HASH,
    KO,
    LAST,
    LEAD,
    PASS,
    PLY,
    SIZE,
    action_of,
    point_at,
)
from games.goban.position import has_been, outcome_by_area, remember


@helper
def begin(board: Board) -> None:
    """Find the chains, the empty points, and the lead of Black in stones."""
    prepare(board)
    size, lead = board[SIZE], 0
    for row in range(size):
        for column in range(size):
            colour = board[point_at(board, row, column)]
            if colour != EMPTY:
                lead += 3 - 2 * colour
    board[LEAD] = lead


@inlined_helper
def is_decided(board: Board) -> bool:
    """Return whether one side has more stones than the other by a third of the points."""
    return 3 * abs(board[LEAD]) > board[SIZE] * board[SIZE]


@inlined_helper
def step(board: Board, point: int) -> int:
    """Play on a point or pass, and return the action."""
    player, cells = board[0], board[SIZE] * board[SIZE]
    board[0] = 3 - player
    board[PLY] += 1
    if point == PASS:
        board[KO] = 0
        if board[LAST] == PASS:
            board[1] = outcome_by_area(board)
    else:
        stones = 1 + put(board, point, player)
        board[LEAD] += stones if player == BLACK else -stones
        if has_been(board, board[HASH]):
            board[1] = -1
        remember(board, board[HASH])
    board[LAST] = point
    if board[1] == 0 and board[PLY] >= 2 * cells:
        board[1] = outcome_by_area(board)
    return action_of(board, point)


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    if board[1]:
        return 0
    begin(board)
    ply = 0
    while board[1] == 0:
        point = PASS if is_decided(board) else random_point(board, rng, board[0])
        trace[ply] = step(board, point)
        ply += 1
    return ply
