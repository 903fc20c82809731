"""Playouts of Go that know captures, escapes, ladders and patterns.

A move answers the last one, or else the one before it: it captures a chain in atari or saves one of
its own beside them, or else is beside them where a pattern matches (Gelly et al. 2006; that it
looks at two moves, and not always, and at ladders is from Baudis' michi).
"""

from __future__ import annotations

from games.core.kernels import Board, Vector, helper, kernel
from games.core.random import Rng, draw
from games.goban.chains import (
    captures,
    fills_no_eye,
    in_atari,
    is_safe,
    liberties_after,
    liberties_of,
    only_liberty,
    random_point,
)
from games.goban.ladders import is_caught_at
from games.goban.layout import (
    BLACK,
    EMPTY,
    HEAD,
    LAST,
    LIBERTIES,
    NEXT,
    PASS,
    STEPS,
    WHITE,
)
from games.goban.patterns import matches
from games.goban.playouts import begin, is_decided, step

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
