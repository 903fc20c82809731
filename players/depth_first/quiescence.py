"""The memory of a search with an evaluation, and the value of a position after forcing moves.

At the horizon of a search, forcing moves are searched on (quiescence), unless the player to move is
better off without them: those of the kernel `forcing` of a game, otherwise moves that remove
pieces. Values are whole numbers for the player to move: the sum of an evaluation times SCALE, and
beyond CERTAIN proven results, the sooner the greater.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types

from playout.games import Game, KernelGame
from playout.games.core.kernels import compiled
from playout.players.core.rules import Rules, type_of
from playout.players.evaluations.tables import (
    ALWAYS,
    LINE,
    NEVER,
    SOMETIMES,
    TABLES,
    Ints,
    Line,
    Tables,
    new_line,
    occupied,
    set_first,
    set_next,
    sum_at,
)

#: The value of a sum of 1; the greatest one of a sum, where a win is beyond doubt; and that of a
#: win, less the number of plies to it.
SCALE, CERTAIN, WON = 5_000, 100_000, 1_000_000
#: Beyond all values.
MOST = 1 << 30
#: Rows of the history: for the root, working memory, and the first of two by plies.
ROOT, RANKS, KILLERS = 0, 3, 4
#: Plies of the stack: of a search, and of the forcing moves after it. Where a player may do without
#: them, their number grows with each ply, so that there are fewer plies.
MOST_PLIES, _FORCED_PLIES, _FREE_PLIES = 80, 24, 8
# The fields of the state: nodes so far, the number of nodes to stop at, whether it was stopped, the
# greatest ply, the number of the search, the words of a board that are the position, whether the
# game has a kernel `forcing`, whether that names captures, how much a value may change with each
# ply, and the depth of the search.
NODES, LAST, STOPPED, DEEPEST, NUMBER, WORDS, FORCES, CAPTURES, MARGIN, DEPTH = range(10)


class PrincipalKernels(NamedTuple):
    """The functions of a game that the search calls.

    They and the tables are arguments of their own, because the search took 11 to 15 % longer with
    them as fields of `PrincipalSearch`.
    """

    legal: Callable[..., int]
    play: Callable[..., None]
    observe: Callable[..., None]
    forcing: Callable[..., int]


KERNELS = type_of(PrincipalKernels)


def kernels_of(rules: Rules) -> PrincipalKernels:
    """Return the kernels of a game; only sensible actions are searched if the game names them."""
    legal = rules.sensible or rules.legal
    return PrincipalKernels(legal, rules.play, rules.observe, rules.forcing or legal)


class PrincipalSearch(NamedTuple):
    """The memory of a search; `ply` counts from the root."""

    boards: Any  # [ply] board: whole numbers, or objects if the rules are in plain Python
    actions: Ints  # [ply, place] legal actions
    scores: Ints  # [ply, place] the greatest is searched next
    line: Line  # the evaluations of the boards
    history: Ints  # [player, action] how often it was a cutoff; [ROOT, action] nodes below it;
    # [RANKS, action] working memory of zeros; [KILLERS + n, ply] actions that were cutoffs last
    table: Ints  # [row, field]: key, mixed with the others; depth * 4 + kind; value; action
    state: Ints  # [field], see above


_V, _M = types.int64[::1], types.int64[:, ::1]
SEARCH = types.NamedTuple([_M, _M, _M, LINE, _M, _M, _V], PrincipalSearch)


def new_table(rows: int) -> Ints:
    """Return an empty table of a number of rows, a power of two."""
    return np.zeros((rows, 4), dtype=np.int64)


def new_search(game: Game, rules: Rules, tables: Tables, table: Ints) -> PrincipalSearch:
    """Return a search; several of them, each in a thread, can share a table."""
    words = len(rules.board(game.initial_state()))
    plies = MOST_PLIES + _FORCED_PLIES + 2
    state = np.zeros(10, dtype=np.int64)
    state[LAST] = 1 << 62
    state[WORDS] = game.position_words if isinstance(game, KernelGame) else words
    state[FORCES] = rules.forcing is not None
    state[CAPTURES] = state[FORCES] and tables.numbers[3] == SOMETIMES
    # Where moves must remove pieces, the value before them says little.
    state[MARGIN] = MOST if tables.numbers[3] == ALWAYS else SCALE // 5
    return PrincipalSearch(
        np.zeros((plies, words), dtype=np.int64 if rules.compiled else object),
        np.zeros((plies, game.num_actions), dtype=np.int64),
        np.zeros((plies, game.num_actions), dtype=np.int64),
        new_line(tables, game.observed_words, plies),
        np.zeros((KILLERS + 2, max(plies, game.num_actions)), dtype=np.int64),
        table,
        state,
    )


@compiled(types.void(SEARCH, KERNELS, TABLES, types.int64), allocates=False)
def set_line(search: PrincipalSearch, kernels: PrincipalKernels, tables: Tables, ply: int) -> None:
    """Set the evaluations up to a ply, from the last position that is set."""
    line, known = search.line, ply
    while known > 0 and line.phases[known] < 0:
        known -= 1
    if line.phases[known] < 0:
        kernels.observe(search.boards[known], line.states[known])
        set_first(tables, line, known)
    for each in range(known + 1, ply + 1):
        kernels.observe(search.boards[each], line.states[each])
        set_next(tables, line, each)


@compiled(types.int64(SEARCH, KERNELS, TABLES, types.int64), allocates=False)
def evaluate(search: PrincipalSearch, kernels: PrincipalKernels, tables: Tables, ply: int) -> int:
    """Return the value of a position for the player to move, and set `search.line` up to it."""
    set_line(search, kernels, tables, ply)
    value = max(-CERTAIN, min(CERTAIN, int(sum_at(search.line, ply) * SCALE)))
    return value if search.boards[ply, 0] == 1 else -value


@compiled(types.float64(types.int64), allocates=False)
def expected_of(value: int) -> float:
    """Return the expected result that a value stands for, from -1 to 1."""
    if abs(value) > CERTAIN:
        return 1.0 if value > 0 else -1.0
    return math.tanh(value / SCALE)


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
def forced_value(
    search: PrincipalSearch,
    kernels: PrincipalKernels,
    tables: Tables,
    ply: int,
    left: int,
    alpha: int,
    beta: int,
) -> int:
    """Return the value of a position after at most `left` plies of forcing moves.

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
    known = state[FORCES] != 0
    forced = removing == ALWAYS
    if (removing == NEVER and not known) or (best >= beta and not forced) or left == 0:
        return best
    n = kernels.forcing(search.boards[ply], search.actions[ply])
    filled = 0
    if n == 0:
        return best
    if not known:
        filled = occupied(tables, search.line.states[ply])
    if forced:
        best = -MOST
    alpha = max(alpha, best)
    if known:
        for place in range(n):
            play_on(search, kernels, ply, search.actions[ply, place])
            if search.boards[ply + 1, 1] != 0:
                worth = outcome_value(search, ply + 1)
            else:
                worth = evaluate(search, kernels, tables, ply + 1)
            same = search.boards[ply + 1, 0] == search.boards[ply, 0]
            search.scores[ply, place] = MOST if same else -worth
    for place in range(n):
        if known:
            bring_best_first(search, ply, place, n)
            if search.scores[ply, place] <= alpha and not forced:
                return max(best, search.scores[ply, place])  # the opponent can stop after it
        play_on(search, kernels, ply, search.actions[ply, place])
        child = search.boards[ply + 1]
        if not known and child[1] == 0 and child[0] != search.boards[ply, 0]:
            kernels.observe(child, search.line.states[ply + 1])
            if occupied(tables, search.line.states[ply + 1]) >= filled:
                if forced:
                    return still
                continue
        if child[0] == search.boards[ply, 0]:
            value = forced_value(search, kernels, tables, ply + 1, left - 1, alpha, beta)
        else:
            value = -forced_value(search, kernels, tables, ply + 1, left - 1, -beta, -alpha)
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
    """Return the value of a position after forcing moves."""
    left = _FORCED_PLIES if tables.numbers[3] == ALWAYS else _FREE_PLIES
    return forced_value(search, kernels, tables, ply, left, alpha, beta)
