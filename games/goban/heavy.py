"""Playouts of Go that know captures, escapes, ladders and patterns.

A move answers the last one, or else the one before it. It captures a chain in atari beside that
move or saves one of the player, or else is played beside it where a pattern matches (Gelly et al.
2006; the second move, the random omissions and the ladders are from Baudis' michi).
"""

from __future__ import annotations

from playout.games.core.kernels import Board, Vector, helper, inlined_helper, kernel
from playout.games.core.random import Rng, draw
from playout.games.goban.chains import (
    captures,
    fills_no_eye,
    in_atari,
    is_safe,
    liberties_after,
    liberties_of,
    only_liberty,
    prepare,
    put,
    random_point,
)
from playout.games.goban.ladders import is_caught_at
from playout.games.goban.points import (
    BLACK,
    EMPTY,
    HASH,
    HEAD,
    KO,
    LAST,
    LEAD,
    LIBERTIES,
    NEXT,
    PASS,
    PLY,
    SIZE,
    STEPS,
    WHITE,
    action_of,
    point_at,
)
from playout.games.goban.position import has_been, outcome_by_area, remember
from playout.games.goban.prior import matches

# Random matches of Go: legal moves that fill no eye of the player, to the end by the rules.
#
# A playout passes when there is no such move, and also when one side has more stones than the other
# by a third of the points: both players then pass, and the position is scored.


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


#: Of this many random moves, one may put its own chain into atari.
_CARELESS = 20
#: One of this many moves does not look for chains in atari, or for patterns.
_NO_ATARI, _NO_PATTERN = 10, 20


@helper
def escapes(board: Board, point: int, player: int) -> bool:
    """Return whether a move on the liberty of a chain in atari captures, or escapes for good."""
    if captures(board, point, player):
        return True
    after = liberties_after(board, point, player)
    return not in_atari(after) and not is_caught_at(board, point, player)


@helper
def rescue(board: Board, rng: Rng, stone: int, player: int) -> int:
    """Return a move that saves a chain in atari, by capturing or by extending it; 0 for none."""
    chosen, count = 0, 0
    head = board[stone + HEAD]
    each = head
    while True:
        for k in range(4):
            near = each + board[STEPS + k]
            if board[near] == 3 - player and in_atari(liberties_of(board, near)):
                point = only_liberty(liberties_of(board, near))
                if fills_no_eye(board, point, player):
                    count += 1
                    if draw(rng, count) == 0:
                        chosen = point
        each = board[each + NEXT]
        if each == head:
            break
    point = only_liberty(board[head + LIBERTIES])
    if fills_no_eye(board, point, player) and escapes(board, point, player):
        count += 1
        if draw(rng, count) == 0:
            chosen = point
    return chosen


@helper
def atari(board: Board, rng: Rng, player: int, last: int) -> int:
    """Return a move that captures or saves a chain at a move or beside it; 0 for none."""
    if last <= PASS:
        return 0
    chosen, count = 0, 0
    for k in range(9):
        near = last if k == 8 else last + board[STEPS + k]
        point, colour = 0, board[near]
        if colour in (BLACK, WHITE) and in_atari(liberties_of(board, near)):
            if colour == player:
                point = rescue(board, rng, near, player)
            else:
                point = only_liberty(liberties_of(board, near))
                if not fills_no_eye(board, point, player):
                    point = 0
        if point:
            count += 1
            if draw(rng, count) == 0:
                chosen = point
    return chosen


@helper
def pattern(board: Board, rng: Rng, player: int, last: int) -> int:
    """Return a move beside another one where a pattern matches; 0 for none."""
    if last <= PASS:
        return 0
    chosen, count = 0, 0
    for k in range(8):
        near = last + board[STEPS + k]
        if (
            board[near] == EMPTY
            and matches(board, near)
            and fills_no_eye(board, near, player)
            and is_safe(board, near, player)
        ):
            count += 1
            if draw(rng, count) == 0:
                chosen = near
    return chosen


@helper
def answer(board: Board, rng: Rng, player: int, before: int) -> int:
    """Return an answer to the last move or the one before it; 0 for none."""
    last, point = board[LAST], 0
    if draw(rng, _NO_ATARI):
        point = atari(board, rng, player, last)
        if point == 0:
            point = atari(board, rng, player, before)
    if point == 0 and draw(rng, _NO_PATTERN):
        point = pattern(board, rng, player, last)
        if point == 0:
            point = pattern(board, rng, player, before)
    return point


@kernel
def heavy(board: Board, rng: Rng, trace: Vector) -> int:
    if board[1]:
        return 0
    begin(board)
    ply, before = 0, PASS
    while board[1] == 0:
        player, point = board[0], PASS
        if not is_decided(board):
            point = answer(board, rng, player, before)
            if point == 0:
                point = random_point(board, rng, player)
                if point != PASS and not is_safe(board, point, player) and draw(rng, _CARELESS):
                    point = random_point(board, rng, player)  # another chance
        before = board[LAST]
        trace[ply] = step(board, point)
        ply += 1
    return ply
