"""Principal-variation search with an evaluation: alpha-beta, whose later moves are first refuted.

At the horizon, moves that remove pieces are searched on (quiescence), unless the player to move is
better off without them. Late moves are searched less deep at first. Values are whole numbers for
the player to move: CERTAIN times the expected result, and beyond it proven results, the sooner the
greater.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from playout.games import KernelGame
from playout.games.core.kernels import compiled
from playout.players.core.rules import board_key, type_of
from playout.players.evaluations.lines import LINE, Line, expected_at, new_line, set_first, set_next
from playout.players.evaluations.tables import ALWAYS, NEVER, TABLES, Ints, Tables, occupied

#: The value of an evaluation of 1; and of a win, less the number of plies to it.
CERTAIN, WON = 10_000, 1_000_000
#: Beyond all values.
_MOST = 1 << 30
#: A row of the table is exact, or a bound from below or above.
_EXACT, _LOWER, _UPPER = range(3)
#: Plies of the stack: of a search, and of the moves after it that remove pieces. Where a player may
#: do without them, their number grows with each ply, so that there are fewer plies.
MOST_PLIES, _FORCED_PLIES, _FREE_PLIES = 80, 24, 8
#: Moves after this number are reduced by a ply, or by two, in searches of at least so many plies.
_LATE, _VERY_LATE, _REDUCED_FROM, _REDUCED_TWICE_FROM = 3, 8, 3, 5
# The fields of the state: nodes so far, the number of nodes to stop at, whether it was stopped, the
# greatest ply, the value of `best_of`, and the number of the search.
NODES, LAST, STOPPED, DEEPEST, VALUE, NUMBER = range(6)


class PrincipalKernels(NamedTuple):
    """The functions of a game that the search calls."""

    legal: Callable[..., int]
    play: Callable[..., None]
    write: Callable[..., None]


KERNELS = type_of(PrincipalKernels)


def kernels_of(game: KernelGame) -> PrincipalKernels:
    """Return the kernels of a game."""
    return PrincipalKernels(game.kernels.legal, game.kernels.play, game.kernels.write)


class PrincipalSearch(NamedTuple):
    """The memory of a search; `ply` counts from the root."""

    boards: Ints  # [ply] board
    actions: Ints  # [ply, place] legal actions
    scores: Ints  # [ply, place] the greatest is searched next
    line: Line  # the evaluations of the boards
    history: Ints  # [player, action] cutoffs, weighted by depth
    table: Ints  # [row, field]: key, depth * 4 + kind, value, action
    state: Ints  # [field], see above


_V, _M = types.int64[::1], types.int64[:, ::1]
SEARCH = types.NamedTuple([_M, _M, _M, LINE, _M, _M, _V], PrincipalSearch)


def new_search(game: KernelGame, tables: Tables, rows: int) -> PrincipalSearch:
    """Return a search whose table has a number of rows, a power of two."""
    plies = MOST_PLIES + _FORCED_PLIES + 2
    return PrincipalSearch(
        np.zeros((plies, len(game.board())), dtype=np.int64),
        np.zeros((plies, game.num_actions), dtype=np.int64),
        np.zeros((plies, game.num_actions), dtype=np.int64),
        new_line(tables, len(game.initial_state()), plies),
        np.zeros((3, game.num_actions), dtype=np.int64),
        np.zeros((rows, 4), dtype=np.int64),
        np.array([0, 1 << 62, 0, 0, 0, 0], dtype=np.int64),
    )


@compiled(types.void(SEARCH, KERNELS, TABLES, types.int64), allocates=False)
def set_line(search: PrincipalSearch, kernels: PrincipalKernels, tables: Tables, ply: int) -> None:
    """Set the evaluations up to a ply, from the last position that is set."""
    line, known = search.line, ply
    while known > 0 and line.phases[known] < 0:
        known -= 1
    if line.phases[known] < 0:
        kernels.write(search.boards[known], line.states[known])
        set_first(tables, line, known)
    for each in range(known + 1, ply + 1):
        kernels.write(search.boards[each], line.states[each])
        set_next(tables, line, each)


@compiled(types.int64(SEARCH, KERNELS, TABLES, types.int64), allocates=False)
def evaluate(search: PrincipalSearch, kernels: PrincipalKernels, tables: Tables, ply: int) -> int:
    """Return the value of a position for the player to move, and set `search.line` up to it."""
    set_line(search, kernels, tables, ply)
    value = int(expected_at(search.line, ply) * CERTAIN)
    return value if search.boards[ply, 0] == 1 else -value


@compiled(types.int64(SEARCH, types.int64), allocates=False)
def outcome_value(search: PrincipalSearch, ply: int) -> int:
    """Return the value of a finished game for the player to move."""
    board = search.boards[ply]
    if board[1] < 0:
        return 0
    return WON - ply if board[1] == board[0] else ply - WON


@compiled(types.void(SEARCH, KERNELS, *[types.int64] * 2), allocates=False)
def play_on(search: PrincipalSearch, kernels: PrincipalKernels, ply: int, action: int) -> None:
    """Set the board of the next ply to the position after an action."""
    board, child = search.boards[ply], search.boards[ply + 1]
    for word in range(len(board)):
        child[word] = board[word]
    kernels.play(child, action)
    search.line.phases[ply + 1] = -1


@compiled(types.int64(SEARCH, KERNELS, TABLES, *[types.int64] * 4), allocates=False)
def removing_value(
    search: PrincipalSearch,
    kernels: PrincipalKernels,
    tables: Tables,
    ply: int,
    left: int,
    alpha: int,
    beta: int,
) -> int:
    """Return the value of a position after at most `left` plies of moves that remove pieces.

    Moves after which the same player is to move are among them: a capture may have several steps.
    """
    state, removing = search.state, tables.numbers[3]
    state[NODES] += 1
    state[DEEPEST] = max(state[DEEPEST], ply)
    if state[NODES] > state[LAST]:
        state[STOPPED] = 1
        return 0
    if search.boards[ply, 1] != 0:
        return outcome_value(search, ply)
    still = best = evaluate(search, kernels, tables, ply)
    forced = removing == ALWAYS
    if removing == NEVER or (best >= beta and not forced):
        return best
    if left == 0:
        return best
    filled = occupied(tables, search.line.states[ply])
    if forced:
        best = -_MOST
    alpha = max(alpha, best)
    for place in range(kernels.legal(search.boards[ply], search.actions[ply])):
        play_on(search, kernels, ply, search.actions[ply, place])
        child = search.boards[ply + 1]
        if child[1] == 0 and child[0] != search.boards[ply, 0]:
            kernels.write(child, search.line.states[ply + 1])
            if occupied(tables, search.line.states[ply + 1]) >= filled:
                if forced:
                    return still
                continue
        if child[0] == search.boards[ply, 0]:
            value = removing_value(search, kernels, tables, ply + 1, left - 1, alpha, beta)
        else:
            value = -removing_value(search, kernels, tables, ply + 1, left - 1, -beta, -alpha)
        best = max(best, value)
        alpha = max(alpha, value)
        if alpha >= beta:
            break
    return best


@compiled(types.int64(SEARCH, KERNELS, TABLES, *[types.int64] * 3), allocates=False)
def quiet_value(
    search: PrincipalSearch,
    kernels: PrincipalKernels,
    tables: Tables,
    ply: int,
    alpha: int,
    beta: int,
) -> int:
    """Return the value of a position after the moves that remove pieces."""
    left = _FORCED_PLIES if tables.numbers[3] == ALWAYS else _FREE_PLIES
    return removing_value(search, kernels, tables, ply, left, alpha, beta)


@compiled(types.int64(SEARCH, KERNELS, TABLES, types.int64), allocates=False)
def best_of(search: PrincipalSearch, kernels: PrincipalKernels, tables: Tables, n: int) -> int:
    """Return the best of the first `n` actions of the root by their quiet values.

    The value of the root is then in `state[VALUE]`.
    """
    best, best_action = -_MOST, -1
    search.line.phases[0] = -1
    for place in range(n):
        action = search.actions[0, place]
        play_on(search, kernels, 0, action)
        if search.boards[1, 0] == search.boards[0, 0]:
            value = quiet_value(search, kernels, tables, 1, best, _MOST)
        else:
            value = -quiet_value(search, kernels, tables, 1, -_MOST, -best)
        if value > best:
            best, best_action = value, action
    search.state[VALUE] = best
    return best_action


@compiled(types.void(SEARCH, *[types.int64] * 3), allocates=False)
def bring_best_first(search: PrincipalSearch, ply: int, place: int, n: int) -> None:
    """Swap the action with the greatest score among those from `place` on to this place."""
    actions, scores = search.actions[ply], search.scores[ply]
    best = place
    for each in range(place + 1, n):
        if scores[each] > scores[best]:
            best = each
    actions[place], actions[best] = actions[best], actions[place]
    scores[place], scores[best] = scores[best], scores[place]


@compiled(types.int64(SEARCH, KERNELS, TABLES, *[types.int64] * 4), allocates=False)
def value_of(
    search: PrincipalSearch,
    kernels: PrincipalKernels,
    tables: Tables,
    ply: int,
    depth: int,
    alpha: int,
    beta: int,
) -> int:
    """Return the value of a position, searched for `depth` plies; the table has its best action."""
    state = search.state
    board = search.boards[ply]
    if board[1] != 0:
        state[NODES] += 1
        return outcome_value(search, ply)
    if depth <= 0 or ply >= MOST_PLIES:
        return quiet_value(search, kernels, tables, ply, alpha, beta)
    state[NODES] += 1
    if state[NODES] > state[LAST]:
        state[STOPPED] = 1
        return 0
    key = board_key(board) ^ state[NUMBER]
    row = search.table[key & (len(search.table) - 1)]
    move = -1
    if row[0] == key:
        move = row[3]
        kind, value = row[1] & 3, row[2]
        holds = (
            kind == _EXACT
            or (kind == _LOWER and value >= beta)
            or (kind == _UPPER and value <= alpha)
        )
        if ply > 0 and row[1] >> 2 >= depth and holds:
            return value
    n = kernels.legal(board, search.actions[ply])
    for place in range(n):
        action = search.actions[ply, place]
        search.scores[ply, place] = _MOST if action == move else search.history[board[0], action]
    lowest, best, best_action = alpha, -_MOST, -1
    for place in range(n):
        bring_best_first(search, ply, place, n)
        action = search.actions[ply, place]
        play_on(search, kernels, ply, action)
        sign = 1 if search.boards[ply + 1, 0] == board[0] else -1
        less = 0
        if place >= _LATE and depth >= _REDUCED_FROM:
            less = 2 if place >= _VERY_LATE and depth >= _REDUCED_TWICE_FROM else 1
        # A window of one: is the move better than the best so far?
        value = -_MOST
        if place > 0:
            low, high = (alpha, alpha + 1) if sign > 0 else (-alpha - 1, -alpha)
            value = sign * value_of(search, kernels, tables, ply + 1, depth - 1 - less, low, high)
        if place == 0 or (value > alpha and (value < beta or less > 0)):
            low, high = (alpha, beta) if sign > 0 else (-beta, -alpha)
            value = sign * value_of(search, kernels, tables, ply + 1, depth - 1, low, high)
        if state[STOPPED] != 0:
            return 0
        if value > best:
            best, best_action = value, action
        alpha = max(alpha, value)
        if alpha >= beta:
            search.history[board[0], action] += depth * depth
            break
    kind = _UPPER if best <= lowest else _LOWER if best >= beta else _EXACT
    row[0], row[1], row[2], row[3] = key, depth << 2 | kind, best, best_action
    return best


def start(search: PrincipalSearch, board: Any) -> None:
    """Set the root, and forget the history and the table of an earlier search."""
    search.boards[0][:] = board
    search.line.phases[0] = -1
    search.history[:] = 0
    search.state[:NUMBER] = 0
    search.state[LAST] = 1 << 62
    search.state[NUMBER] += 1


def row_of(search: PrincipalSearch, board: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return the row of a position in the table, None if there is none."""
    key = int(board_key(board)) ^ int(search.state[NUMBER])
    row = search.table[key & (len(search.table) - 1)]
    return row if row[0] == key and row[1] else None
