"""Playouts and assumptions of Go that know captures, escapes and patterns.

`heavy` answers the last move, or else the one before it: it captures a chain in atari or saves one
of its own beside them, or else plays beside them where a pattern matches (Gelly et al. 2006; that
it looks at two moves, and not always, is from Baudis' michi). `prior` assumes results of each
action for the first visits of a search (Gelly & Silver 2007).
"""

from __future__ import annotations

from games.core.kernels import Board, Vector, helper, kernel
from games.core.random import Rng, draw
from games.goban.chains import (
    captures,
    fills_no_eye,
    in_atari,
    liberties_after,
    liberties_of,
    only_liberty,
    prepare,
    random_point,
)
from games.goban.ladders import catching_point, clear, is_caught_at
from games.goban.layout import (
    BLACK,
    BORDER,
    EMPTY,
    FIRST,
    HEAD,
    LAST,
    LIBERTIES,
    MARK,
    NEXT,
    PASS,
    SIZE,
    STACK,
    STEPS,
    WHITE,
    action_of,
    point_at,
)
from games.goban.patterns import matches
from games.goban.playouts import begin, is_decided, step

#: The visits that `prior` assumes: half of EVEN are won, and the others won or lost.
EVEN, EYE, CAPTURE, SELF_ATARI, RESCUE, PATTERN, ALONE = 10, 50, 30, 20, 20, 10, 10
LADDER = 20
#: Visits that are won, by the distance from the last move.
NEAR = (0, 24, 22, 8)
#: Of this many random moves, one may put its own chain into atari.
_CARELESS = 20
#: One move in so many does not look for chains in atari, or for patterns.
_NO_ATARI, _NO_PATTERN = 10, 20


@helper
def is_safe(board: Board, point: int, player: int) -> bool:
    """Return whether a move captures, or leaves its chain more than one liberty."""
    return captures(board, point, player) or not in_atari(liberties_after(board, point, player))


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


@helper
def _assume_near(board: Board, results: Vector) -> None:
    """Assume that moves near the last one are good.

    The stones of a chain have the same distance (common fate graph, Graepel et al. 2001).
    """
    end = _reach(board, board[LAST], 1, 0)
    done = 0
    while done < end:
        point = board[FIRST + 8 * done + STACK]
        done += 1
        distance = board[point + MARK] - 1
        if board[point] == EMPTY:
            _assume(results, action_of(board, point), NEAR[distance], NEAR[distance])
        if distance + 1 < len(NEAR):
            for k in range(4):
                near = point + board[STEPS + k]
                if board[near] != BORDER and board[near + MARK] == 0:
                    end = _reach(board, near, distance + 2, end)
    clear(board, 0, end)


@helper
def _reach(board: Board, point: int, mark: int, end: int) -> int:
    """Mark a point, or its whole chain, and put it on the stack; return the end of the stack."""
    each = point
    while True:
        board[each + MARK] = mark
        board[FIRST + 8 * end + STACK] = each
        end += 1
        if board[each] == EMPTY:
            return end
        each = board[each + NEXT]
        if each == point:
            return end


@helper
def _is_alone(board: Board, row: int, column: int) -> bool:
    """Return whether there is no stone within three rows and columns."""
    size = board[SIZE]
    for near_row in range(max(0, row - 3), min(size, row + 4)):
        for near_column in range(max(0, column - 3), min(size, column + 4)):
            if board[point_at(board, near_row, near_column)] != EMPTY:
                return False
    return True


@helper
def _rescues(board: Board, point: int, player: int) -> bool:
    """Return whether a move is the liberty of a chain of the player in atari."""
    for k in range(4):
        near = point + board[STEPS + k]
        if board[near] == player and in_atari(liberties_of(board, near)):
            return True
    return False


@helper
def _assume(results: Vector, action: int, wins: int, visits: int) -> None:
    results[2 * action] += 2 * wins
    results[2 * action + 1] += visits


@helper
def _assume_ladders(board: Board, results: Vector) -> None:
    """Assume that it is good to begin a ladder that captures a chain, and to prevent it."""
    size, player = board[SIZE], board[0]
    for row in range(size):
        for column in range(size):
            stone = point_at(board, row, column)
            if board[stone] == EMPTY or board[stone + HEAD] != stone:
                continue
            point = catching_point(board, stone)
            if point and fills_no_eye(board, point, player):
                _assume(results, action_of(board, point), LADDER, LADDER)


@kernel
def prior(board: Board, results: Vector) -> None:
    prepare(board)
    size, player, last = board[SIZE], board[0], board[LAST]
    for row in range(size):
        for column in range(size):
            point, action = point_at(board, row, column), row * size + column
            if board[point] != EMPTY:
                continue
            results[2 * action] = EVEN
            results[2 * action + 1] = EVEN
            if not fills_no_eye(board, point, player):
                _assume(results, action, 0, EYE)
                continue
            if captures(board, point, player):
                _assume(results, action, CAPTURE, CAPTURE)
            elif not is_safe(board, point, player):
                _assume(results, action, 0, SELF_ATARI)
            elif _rescues(board, point, player):
                won = 0 if is_caught_at(board, point, player) else RESCUE
                _assume(results, action, won, RESCUE)
            if matches(board, point):
                _assume(results, action, PATTERN, PATTERN)
            line = min(row, column, size - 1 - row, size - 1 - column)
            if line < 3 and _is_alone(board, row, column):
                _assume(results, action, ALONE if line == 2 else 0, ALONE)
    _assume_ladders(board, results)
    if last > PASS:
        _assume_near(board, results)
    results[2 * size * size] = 0
    results[2 * size * size + 1] = EVEN
    if last == PASS:  # it ends the match: one visit proves whether that wins
        results[2 * size * size] = 2 * EVEN
