"""Playouts of Go, and the results of actions that are assumed before a search visits them."""

from __future__ import annotations

import functools
import itertools

import numpy as np
from numpy.typing import NDArray

from playout.games.core.kernels import Board, Vector, helper, inlined_helper, kernel
from playout.games.core.random import Rng, draw
from playout.games.goban.chains import (
    captures,
    catching_point,
    clear,
    fills_no_eye,
    in_atari,
    is_caught_at,
    is_safe,
    liberties_after,
    liberties_of,
    only_liberty,
    prepare,
    put,
    random_point,
)
from playout.games.goban.position import (
    BLACK,
    BORDER,
    EMPTY,
    FIRST,
    HASH,
    HEAD,
    KO,
    LAST,
    LEAD,
    LIBERTIES,
    MARK,
    NEXT,
    PASS,
    PLY,
    PUT,
    SIZE,
    STACK,
    STAGE,
    STEPS,
    TERRITORY,
    WHITE,
    action_of,
    count,
    end_play,
    has_been,
    outcome_by_points,
    point_at,
    remember,
)

# Assumed results of actions. Captures, escapes, ladders, patterns, moves near the last one, and
# isolated moves on the third line are assumed to win; moves into atari, hopeless escapes, and
# isolated moves near the border to lose (Gelly & Silver 2007; the numbers are near those of Baudis'
# michi).


# Patterns of three by three points around an empty point that good moves of Go often match.
#
# They are from MoGo's playouts (Gelly, Wang, Munos & Teytaud 2006, figures 2 to 5): hane, cuts, and
# moves at the border. `table` has an entry for each of the 4^8 neighbourhoods.


#: The rows of each pattern. X and O are stones of two players, either of which is to move; x and o
#: are anything but such a stone; a dot is an empty point, # the border, and ? anything.
_PATTERNS = (
    ("XOX", "...", "???"),  # hane: enclosing
    ("XO.", "...", "?.?"),  # hane: not cutting
    ("XO?", "X..", "x.?"),  # hane: magari
    (".O.", "X..", "..."),  # a diagonal attachment
    ("XO?", "O.o", "?o?"),  # a cut that is not protected
    ("XO?", "O.X", "???"),  # a cut that is peeped at
    ("?X?", "O.O", "ooo"),  # a cut between two stones
    ("OX?", "o.O", "???"),  # a cut at a knight's move
    ("X.?", "O.?", "###"),  # at the border: a chase
    ("OX?", "X.O", "###"),  # at the border: to prevent a cut
    ("?X?", "x.O", "###"),  # at the border: to prevent a connection
    ("?XO", "x.x", "###"),  # at the border: to descend
    ("?OX", "X.O", "###"),  # at the border: a cut
)
_ALLOWED = {
    ".": {EMPTY},
    "X": {BLACK},
    "O": {WHITE},
    "x": {EMPTY, WHITE, BORDER},
    "o": {EMPTY, BLACK, BORDER},
    "#": {BORDER},
    "?": {EMPTY, BLACK, WHITE, BORDER},
}
#: The rows and columns of the neighbours in the order of STEPS.
_NEIGHBOURS = ((0, 1), (1, 0), (1, 2), (2, 1), (0, 0), (2, 0), (0, 2), (2, 2))


def table() -> NDArray[np.bool_]:
    """Return whether each neighbourhood matches a pattern, by two bits for each neighbour."""
    found = np.zeros((4,) * 8, dtype=np.bool_)
    for pattern, swapped in itertools.product(_PATTERNS, (False, True)):
        for grid in _images(np.array([list(row) for row in pattern])):
            allowed = [_colours(grid[place], swapped) for place in reversed(_NEIGHBOURS)]
            found |= functools.reduce(np.logical_and.outer, allowed)
    return found.reshape(-1)


def _images(grid: NDArray[np.str_]) -> list[NDArray[np.str_]]:
    turned = [np.rot90(grid, k) for k in range(4)]
    return turned + [np.fliplr(each) for each in turned]


def _colours(letter: str, swapped: bool) -> NDArray[np.bool_]:
    """Return for each colour whether a letter allows it, with the players swapped or not."""
    order = (EMPTY, WHITE, BLACK, BORDER) if swapped else (EMPTY, BLACK, WHITE, BORDER)
    return np.array([colour in _ALLOWED[letter] for colour in order])


_TABLE = table()


@helper
def matches(board: Board, point: int) -> bool:
    """Return whether the neighbourhood of a point matches a pattern."""
    code = 0
    for k in range(8):
        code |= board[point + board[STEPS + k]] << 2 * k
    return _TABLE[code]


#: The visits that `prior` assumes: half of EVEN are won, and the others won or lost.
EVEN, EYE, CAPTURE, SELF_ATARI, RESCUE, PATTERN, ALONE = 10, 50, 30, 20, 20, 10, 10
LADDER = 20
#: Visits that are won, by the distance from the last move.
NEAR = (0, 24, 22, 8)


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


@helper
def _assume_marks(board: Board, results: Vector) -> None:
    """Assume, in the stage of counting, that it is bad to mark stones."""
    cells = board[SIZE] * board[SIZE]
    for action in range(cells + 2):
        results[2 * action] = 0 if action < cells else EVEN
        results[2 * action + 1] = EVEN


@kernel
def prior(board: Board, results: Vector) -> None:
    if board[STAGE]:
        _assume_marks(board, results)
        return
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


# Playouts of Go that know captures, escapes, ladders and patterns.
#
# A move answers the last one, or else the one before it. It captures a chain in atari beside that
# move or saves one of the player, or else is played beside it where a pattern matches (Gelly et al.
# 2006; the second move, the random omissions and the ladders are from Baudis' michi).


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
            end_play(board)
    else:
        stones = 1 + put(board, point, player)
        board[PUT + player - 1] += board[TERRITORY]
        board[LEAD] += stones if player == BLACK else -stones
        if has_been(board, board[HASH]):
            board[1] = -1
        remember(board, board[HASH])
    board[LAST] = point
    if board[1] == 0 and board[STAGE] == 0 and board[PLY] >= 2 * cells:
        board[1] = outcome_by_points(board)
    return action_of(board, point)


@helper
def accept(board: Board, trace: Vector, ply: int) -> int:
    """Accept the marks of dead stones, if the score is being counted; return the next ply."""
    pass_action = board[SIZE] * board[SIZE]
    while board[STAGE] and board[1] == 0:
        count(board, pass_action)
        trace[ply] = pass_action
        ply += 1
    return ply


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    if board[1]:
        return 0
    ply = accept(board, trace, 0)
    begin(board)
    while board[1] == 0:
        point = PASS if is_decided(board) else random_point(board, rng, board[0])
        trace[ply] = step(board, point)
        ply = accept(board, trace, ply + 1)
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
    ply, before = accept(board, trace, 0), PASS
    begin(board)
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
        ply = accept(board, trace, ply + 1)
    return ply
