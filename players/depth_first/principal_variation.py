"""Principal-variation search with an evaluation: alpha-beta that tries to refute all later moves.

A search with a window of one shows whether a later move is better than the best so far; late moves
are first searched less deep. At the horizon only forcing moves are searched (quiescence), unless
the player to move is better off without them: those of the kernel `forcing` of a game, otherwise
moves that remove pieces. Values are whole numbers for the player to move: the sum of an evaluation
times SCALE; those beyond CERTAIN are proven results, and the sooner a win, the greater its value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types

from playout.games import Game, KernelGame
from playout.games.core.kernels import Board, compiled, in_python, inlined
from playout.players.core.rules import Rules, board_key, type_of
from playout.players.depth_first import LAST, MOST_PLIES, NODES, ROOT, STOPPED, SearchFunctions
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

#: The value of a sum of 1, the maximum value of a sum, and the value of a win, less the number of
#: plies to it.
SCALE, CERTAIN, WON = 5_000, 100_000, 1_000_000
#: Beyond all values.
MOST = 1 << 30
#: Rows of the history besides the one for the root: working memory, and the first of two by plies.
RANKS, KILLERS = 3, 4
#: Plies of the stack for the forcing moves after a search. Where a player may do without them,
#: their number grows with each ply, so that there are fewer plies.
_FORCED_PLIES, _FREE_PLIES = 24, 8
# The other fields of the state: the greatest ply, the number of the search, the words of a board
# that are the position, whether the game has a kernel `forcing`, whether that names captures, how
# much a value may change with each ply, and the depth of the search.
DEEPEST, NUMBER, WORDS, FORCES, CAPTURES, MARGIN, DEPTH = range(3, 10)


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


#: A row of the table is exact, or a bound from below or above.
_EXACT, _LOWER, _UPPER = range(3)
#: Moves from this place on are reduced, in searches of at least so many plies.
_LATE, _REDUCED_FROM = 3, 3
#: [whether a game names captures as forcing, plies of a search, place of a move] plies by which the
#: move is reduced, up to the last place. Where captures come first, late moves are reduced more.
_LAST_PLACE = 63
_REDUCTIONS = np.array(
    [
        [
            [
                round(math.log(max(1, depth)) * math.log(1 + place) / divisor)
                if depth >= _REDUCED_FROM and place >= _LATE
                else 0
                for place in range(_LAST_PLACE + 1)
            ]
            for depth in range(MOST_PLIES + 1)
        ]
        for divisor in (1.8, 1.2)
    ]
)
#: With at most this many plies left, a position is not searched if its evaluation is at least beta
#: and a margin for each ply; if it is at most alpha, late moves are left out: with one ply left,
#: from the fifth on.
_JUDGED_TO, _LEFT_OUT = 6, 3
#: A position with fewer actions counts as threatened, as in check.
_FREE = 6
#: Forcing moves score more than the first number, killers at least the second; the history gives
#: other moves less than that.
_FORCING, _KILLER = 1 << 26, 1 << 24
#: A cutoff with d plies left adds 16 d² to the history of its action, and subtracts the share
#: d² / _SHARE of the old value; d² counts as _MOST_ADDED at most.
_MOST_ADDED, _SHARE = 400, 1024


@compiled(types.int64(SEARCH, types.int64[::1]), allocates=False)
def key_of(search: PrincipalSearch, board: Board) -> int:
    """Return the key of a position in the table of a search, without earlier positions."""
    return board_key(board[: search.state[WORDS]]) ^ search.state[NUMBER]


@compiled(types.int64(SEARCH, KERNELS, *[types.int64] * 3), allocates=False)
def reduction(
    search: PrincipalSearch, kernels: PrincipalKernels, ply: int, depth: int, place: int
) -> int:
    """Return the plies by which a move is reduced that was played: none if it is a threat."""
    less = _REDUCTIONS[search.state[CAPTURES], depth, min(place, _LAST_PLACE)]
    if less == 0 or search.state[FORCES] == 0:
        return less
    is_threat = kernels.legal(search.boards[ply + 1], search.actions[ply + 1]) < _FREE
    return 0 if is_threat else less


@inlined
def score_actions(
    search: PrincipalSearch, kernels: PrincipalKernels, ply: int, n: int, move: int
) -> None:
    """Score actions: that of the table, forcing ones in their order, killers, others by history."""
    board, ranks, scores = search.boards[ply], search.history[RANKS], search.scores[ply]
    forcing, count = search.actions[ply + 1], 0
    if search.state[FORCES] != 0:
        count = kernels.forcing(board, forcing)
    for rank in range(count):
        ranks[forcing[rank]] = 2 * _FORCING - rank
    for place in range(n):
        action = search.actions[ply, place]
        scores[place] = search.history[board[0], action]
        if action == move:
            scores[place] = MOST
        elif ranks[action] != 0:
            scores[place] = ranks[action]
        elif action == search.history[KILLERS, ply]:
            scores[place] = 2 * _KILLER
        elif action == search.history[KILLERS + 1, ply]:
            scores[place] = _KILLER
    for rank in range(count):
        ranks[forcing[rank]] = 0


@inlined
def record_cutoff(search: PrincipalSearch, ply: int, depth: int, place: int) -> None:
    """Record that the action at a place was a cutoff, and those before it were not."""
    actions, killers = search.actions[ply], search.history[KILLERS : KILLERS + 2, ply]
    history = search.history[search.boards[ply, 0]]
    more = min(depth * depth, _MOST_ADDED)
    for each in range(place + 1):
        old = history[actions[each]]
        sign = 1 if each == place else -1
        history[actions[each]] += sign * 16 * more - old * more // _SHARE
    if actions[place] != killers[0]:
        killers[0], killers[1] = actions[place], killers[0]


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
    key = key_of(search, board)
    row = search.table[key & (len(search.table) - 1)]
    move = -1
    about, value, known = row[1], row[2], row[3]
    if row[0] ^ about ^ value ^ known == key:  # else of another position, or of another thread
        move, kind = known, about & 3
        holds = (
            kind == _EXACT
            or (kind == _LOWER and value >= beta)
            or (kind == _UPPER and value <= alpha)
        )
        if ply > 0 and about >> 2 >= depth and holds:
            return value
    n = late = kernels.legal(board, search.actions[ply])
    is_judged = state[MARGIN] < MOST and ply > 0 and depth <= _JUDGED_TO and n >= _FREE
    if is_judged and beta - alpha == 1 and abs(beta) < CERTAIN:
        # Reverse futility pruning: a few plies can hardly make it bad.
        still = evaluate(search, kernels, tables, ply)
        if still - depth * state[MARGIN] >= beta:
            return still
        # Late move pruning: quiet moves that are good nowhere else can hardly raise a low value.
        if still <= alpha and state[CAPTURES] != 0:
            late = _LEFT_OUT + depth * depth
    further = depth - 1
    if n == 1 or (n < _FREE and state[FORCES] != 0 and depth > 2 and ply < 2 * state[DEPTH]):
        further = depth  # the answer to a threat takes no depth
    score_actions(search, kernels, ply, n, move)
    lowest, best, best_action = alpha, -MOST, -1
    for place in range(n):
        bring_best_first(search, ply, place, n)
        if place >= late and best > -CERTAIN and search.scores[ply, place] < _FORCING:
            break  # the others are not forcing either
        action = search.actions[ply, place]
        play_on(search, kernels, ply, action)
        sign = 1 if search.boards[ply + 1, 0] == board[0] else -1
        less = reduction(search, kernels, ply, depth, place)
        # A window of one: is the move better than the best so far?
        value = -MOST
        if place > 0:
            low, high = (alpha, alpha + 1) if sign > 0 else (-alpha - 1, -alpha)
            value = sign * value_of(search, kernels, tables, ply + 1, further - less, low, high)
        if place == 0 or (value > alpha and (value < beta or less > 0)):
            low, high = (alpha, beta) if sign > 0 else (-beta, -alpha)
            value = sign * value_of(search, kernels, tables, ply + 1, further, low, high)
        if state[STOPPED] != 0:
            return 0
        if value > best:
            best, best_action = value, action
        alpha = max(alpha, value)
        if alpha >= beta:
            record_cutoff(search, ply, depth, place)
            break
    kind = _UPPER if best <= lowest else _LOWER if best >= beta else _EXACT
    about = depth << 2 | kind
    row[0], row[1], row[2], row[3] = key ^ about ^ best ^ best_action, about, best, best_action
    return best


@compiled(types.void(SEARCH, types.int64), allocates=False)
def move_up(search: PrincipalSearch, place: int) -> None:
    """Move an action of the root before those with a lower score, which are in order."""
    actions, scores = search.actions[0], search.scores[0]
    while place > 0 and scores[place] > scores[place - 1]:
        actions[place], actions[place - 1] = actions[place - 1], actions[place]
        scores[place], scores[place - 1] = scores[place - 1], scores[place]
        place -= 1


@compiled(types.int64(SEARCH, KERNELS, TABLES, *[types.int64] * 3), allocates=False)
def search_root(
    search: PrincipalSearch,
    kernels: PrincipalKernels,
    tables: Tables,
    n: int,
    depth: int,
    wanted: int,
) -> int:
    """Search the first `n` actions of the root, and return the number of those that were searched.

    These are then in order, the best first. The scores of the first `wanted` are exact, the others
    are upper bounds. Actions that the limit left out stay behind them.
    """
    actions, scores, state = search.actions[0], search.scores[0], search.state
    player = search.boards[0, 0]
    search.line.phases[0] = -1
    state[DEPTH] = depth
    for place in range(n):
        action, before = actions[place], state[NODES]
        alpha = scores[wanted - 1] if place >= wanted else -MOST
        play_on(search, kernels, 0, action)
        sign = 1 if search.boards[1, 0] == player else -1
        less = reduction(search, kernels, 0, depth, place) if place >= wanted else 0
        value = -MOST
        if place >= wanted:
            low, high = (alpha, alpha + 1) if sign > 0 else (-alpha - 1, -alpha)
            value = sign * value_of(search, kernels, tables, 1, depth - 1 - less, low, high)
        if place < wanted or value > alpha:
            low, high = (alpha, MOST) if sign > 0 else (-MOST, -alpha)
            value = sign * value_of(search, kernels, tables, 1, depth - 1, low, high)
        search.history[ROOT, action] += state[NODES] - before
        if state[STOPPED] != 0:
            for other in range(place, min(n, wanted)):  # those of the search before
                move_up(search, other)
            if scores[0] < -CERTAIN:  # all that were searched lose: try the next one
                actions[0], actions[place] = actions[place], actions[0]
                scores[0], scores[place] = scores[place], scores[0]
            return place
        scores[place] = value
        move_up(search, place)
    return n


def start(search: PrincipalSearch, board: Any, number: int) -> None:
    """Set the root, and forget history and killers; the table keeps what has the same number."""
    search.boards[0][:] = board
    search.line.phases[0] = -1
    search.history[:] = 0
    search.history[KILLERS:] = -1
    search.state[:NUMBER] = 0
    search.state[LAST] = 1 << 62
    search.state[NUMBER] = number


def interpreted(**others: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """Return the functions that access boards, by name, as plain Python; they call `others`."""
    in_board = set_line, evaluate, play_on, outcome_value, bring_best_first, forced_value
    in_tree = quiet_value, key_of, reduction, value_of, move_up, search_root
    return in_python(*in_board, *in_tree, board_key=lambda board: hash(tuple(board)), **others)


def functions_for(rules: Rules) -> SearchFunctions:
    """Return the functions for compiled rules, or for those of a game in plain Python."""

    def known(search: PrincipalSearch, board: Any) -> int | None:
        return best_action(search, int(functions["key_of"](search, board)))

    functions: dict[str, Callable[..., Any]] = {"key_of": key_of, "search_root": search_root}
    if not rules.compiled:
        functions = interpreted()
    first_look = None if rules.compiled else look_ahead()
    return SearchFunctions(start, known, functions["search_root"], first_look, expected_of, CERTAIN)


def look_ahead() -> Callable[..., int]:
    """Return `search_root` in plain Python without forcing moves after its last ply.

    Searches begin with it where rules are slow: with forcing moves, one ply might not end in time.
    """
    evaluated = interpreted()["evaluate"]

    def value_at(search: PrincipalSearch, *others: Any) -> int:
        kernels, tables, ply, _, _ = others
        value: int = evaluated(search, kernels, tables, ply)
        return value

    return interpreted(quiet_value=value_at)["search_root"]


def best_action(search: PrincipalSearch, key: int) -> int | None:
    """Return the best action of the position with a key in the table, None if it is not there."""
    mixed, about, value, action = search.table[key & (len(search.table) - 1)].tolist()
    return action if about and mixed ^ about ^ value ^ action == key else None
