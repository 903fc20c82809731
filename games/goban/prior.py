"""Results of the actions of a position of Go that are assumed before a search visits them.

Captures, escapes, ladders, patterns, moves near the last one, and isolated moves on the third line
are assumed to win; moves into atari, hopeless escapes, and isolated moves near the border to lose
(Gelly & Silver 2007; the numbers are near those of Baudis' michi).
"""

from __future__ import annotations

import functools
import itertools

import numpy as np
from numpy.typing import NDArray

from playout.games.core.kernels import Board, Vector, helper, kernel
from playout.games.goban.chains import (
    captures,
    fills_no_eye,
    in_atari,
    is_safe,
    liberties_of,
    prepare,
)
from playout.games.goban.ladders import catching_point, clear, is_caught_at
from playout.games.goban.points import (
    BLACK,
    BORDER,
    EMPTY,
    FIRST,
    HEAD,
    LAST,
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
