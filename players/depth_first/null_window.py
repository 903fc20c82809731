"""Null-window alpha-beta search: whether one player, the attacker, can force a win within a depth.

The minimax value of a position is a win, a tie or a loss. So two searches, one for each player as
the attacker, determine the value. Where the attacker moves, one winning move is enough; where the
other player moves, all moves must lose. Positions beyond the depth count as no win. The answer
includes the number of plies for which it holds: NEVER if no deeper search can change it.

The search is compiled once for all games: the rules are passed as function pointers. The same
source runs uncompiled over a game in plain Python. It has its own stack, so that it can stop at any
node and continue later.

The transposition table holds results of positions by a 64-bit key. A row is a key and a word. The
word holds the winner, if proven, and for each player the number of plies within which that player
cannot win; both hold in every search. Four rows, one cache line, form a bucket: a new position
replaces a row of an older search first, then the row with the fewest nodes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from playout.games import Game
from playout.games.core.kernels import compiled, in_python, inlined
from playout.players.core.rules import Rules, type_of

Rows = NDArray[np.int64]

#: Results of a search whether a player wins: WIN, n (not within n plies) or NEVER.
WIN, NEVER = -1, 4095

_BUCKET = 4
_BYTES_PER_ROW = 16
# Bits: winner 2, safe plies 12 for each player, move + 1, age, log2 of the nodes of its search.
_SAFE_PLIES, _MOVE, _AGE, _EFFORT = (-10, 2, 14), 26, 46, 54
#: Greatest values that fit between those bit positions.
MAX_MOVES, _AGES = (1 << 20) - 2, 255

_ROWS = types.int64[:, ::1]


def new_table(megabytes: int) -> Rows:
    """Return an empty table of at most `megabytes`; the number of rows is a power of two.

    All rows are written once, so that the system allocates no pages during a search. Raises
    MemoryError, OverflowError or ValueError if the memory cannot be allocated.
    """
    rows = 1 << (megabytes * 2**20 // _BYTES_PER_ROW).bit_length() - 1
    return np.full((rows, 2), 0, dtype=np.int64)


@compiled(types.int64(_ROWS, types.int64), allocates=False)
def find(rows: Rows, key: int) -> int:
    """Return the word that is stored for a position, or 0."""
    bucket = (key & (len(rows) // _BUCKET - 1)) * _BUCKET
    for row in range(bucket, bucket + _BUCKET):
        if rows[row, 0] == key:
            return rows[row, 1]
    return 0


@compiled("int64(int64, int64)", allocates=False)
def known_result(word: int, attacker: int) -> int:
    """Return the result in a word: WIN, or the plies within which `attacker` cannot win."""
    winner = word & 3
    if winner == attacker:
        return WIN
    return NEVER if winner else word >> _SAFE_PLIES[attacker] & NEVER


@compiled("int64(int64)", allocates=False)
def winner(word: int) -> int:
    """Return the proven winner in a word, or 0."""
    return word & 3


@compiled("int64(int64)", allocates=False)
def move(word: int) -> int:
    """Return the action that decided the position, or -1."""
    return (word >> _MOVE & MAX_MOVES + 1) - 1


@compiled("int64(int64)", allocates=False)
def effort(word: int) -> int:
    """Return the approximate number of nodes of the search, a power of two."""
    return 1 << (word >> _EFFORT & 63)


@compiled(types.void(*[_ROWS] + [types.int64] * 6), allocates=False)
def store(
    rows: Rows, key: int, attacker: int, result: int, action: int, generation: int, nodes: int
) -> None:
    """Store `result` for `attacker`, which `action` (or -1) decided after `nodes` nodes.

    Rows of another `generation` are replaced first.
    """
    bucket = (key & (len(rows) // _BUCKET - 1)) * _BUCKET
    place, least, word = bucket, 1 << 30, 0
    for row in range(bucket, bucket + _BUCKET):
        if rows[row, 0] == key:
            place, word = row, rows[row, 1]
            break
        worth = rows[row, 1] >> _EFFORT & 63
        if rows[row, 1] >> _AGE & _AGES == generation & _AGES:
            worth += 64
        if worth < least:
            place, least = row, worth
    if action < 0:
        action = move(word)
    log = word >> _EFFORT & 63
    while nodes >> log > 1:
        log += 1
    facts = word & (1 << _MOVE) - 1
    if result == WIN:
        facts |= attacker
    else:
        known = max(result, facts >> _SAFE_PLIES[attacker] & NEVER)
        facts = facts & ~(NEVER << _SAFE_PLIES[attacker]) | known << _SAFE_PLIES[attacker]
    rows[place, 0] = key
    rows[place, 1] = facts | action + 1 << _MOVE | (generation & _AGES) << _AGE | log << _EFFORT


Ints = NDArray[np.int64]


class WindowKernels(NamedTuple):
    """The functions of a game that the search calls.

    They are an argument of their own, because the search took 14 to 16 % longer with them as a
    field of `WindowSearch`. There are only three, because each call passes them on: with six, it
    took 10 % longer.
    """

    legal: Callable[..., int]
    play: Callable[..., None]
    key: Callable[..., int]


_KERNELS = type_of(WindowKernels)


def kernels_of(rules: Rules) -> WindowKernels:
    """Return the kernels of a game; only sensible actions are searched if the game names them."""
    return WindowKernels(rules.sensible or rules.legal, rules.play, rules.key)


class WindowSearch(NamedTuple):
    """The state of a search that can be continued.

    Slots hold the positions of open nodes and of their children: slot 0 the root, then the children
    of each node on the path, in order.
    """

    boards: Any  # [slot] board
    actions: Ints  # [slot] action that leads to it
    keys: Ints  # [slot] key in the table, of open nodes
    scores: Ints  # [slot] the greatest is searched next; _DONE marks a searched slot
    frames: Ints  # [ply, field] of the open nodes, see below
    legal: Ints  # [3 * legal actions] working memory
    history: Ints  # [2 * player + role, action] moving average of cutoffs by the action; see NOISE
    table: Rows
    state: Ints  # [field], see below


# The fields of a frame: its slot, the first and the end of its children's slots, the plies that are
# left to search, the plies within which the attacker cannot win, the number of nodes when it was
# opened, and whether the attacker moves.
SLOT, FIRST, END, LEFT, SAFE_PLIES, BEFORE, ATTACKS = range(7)
# The fields of the state: the ply of the open node, the number of nodes so far, the attacker, the
# greatest ply, the result, the root's action that decided it or -1, the generation of table rows,
# and the greatest number of legal actions for which the replies to each are examined.
PLY, NODES, ATTACKER, DEEPEST, RESULT, MOVE, GENERATION, MAX_WIDTH = range(8)

#: The row of the history for the root: random numbers below ONE, which order equal actions.
NOISE = 0
#: History value of an action that always causes a cutoff.
ONE = 1 << 16
_OPEN = -2
_DONE = -(1 << 62)
#: A MAX_WIDTH for actions that the game sorts, without losing ones: no replies are examined.
SORTED = -1
#: Weights in the order of children: the table's move, then each reply, then the history.
_TABLE, _REPLY = 1 << 50, 1 << 30
#: Fewest remaining plies for which the table is used, and for which replies are examined: below, it
#: costs more time than it saves.
_STORED_FROM, _REPLIES_FROM = 3, 6
#: Each result moves the history average by 2**-8 of the difference.
_MEMORY = 8
#: Most bytes of boards; this limits the depth for games with many actions and large boards.
_BOARDS = 2**26

_V, _M = types.int64[::1], types.int64[:, ::1]
_SEARCH = types.NamedTuple([_M, _V, _V, _V, _M, _V, _M, _M, _V], WindowSearch)


def new_history(game: Game) -> Ints:
    """Return a history of zeros: the row NOISE, an unused row, and two rows for each player."""
    return np.zeros((6, game.num_actions), dtype=np.int64)


def new_search(game: Game, rules: Rules, rows: Rows, history: Ints) -> WindowSearch:
    """Return a search with its own stack; searches can share the table and the history."""
    words = len(rules.board(game.initial_state()))
    plies = max(1, min(game.max_plies, NEVER - 1, _BOARDS // (8 * words * game.num_actions)))
    slots = plies * game.num_actions + 3
    # With interpreted rules, slots get a board when they are used: chess has 2.8 million slots.
    boards: Any = defaultdict(partial(rules.board, game.initial_state()))
    if rules.compiled:
        boards = np.empty((slots, words), dtype=np.int64)
    actions, keys, scores = np.zeros((3, slots), dtype=np.int64)
    return WindowSearch(
        boards,
        actions,
        keys,
        scores,
        frames=np.zeros((plies + 1, 7), dtype=np.int64),
        legal=np.zeros(3 * game.num_actions, dtype=np.int64),
        history=history,
        table=rows,
        state=np.zeros(8, dtype=np.int64),
    )


def max_depth(search: WindowSearch) -> int:
    """Return the greatest depth in plies for which the stack has room."""
    return len(search.frames) - 1


def start(search: WindowSearch, root: Any, attacker: int, generation: int, max_width: int) -> None:
    """Reset a search: whether `attacker` wins from the board `root`.

    It uses the table rows of the same `generation`. In positions with at most `max_width` legal
    actions, it examines the replies to each of them.
    """
    search.boards[0][:] = root
    search.state[:] = 0
    search.state[[PLY, MOVE]] = -1
    search.state[ATTACKER], search.state[GENERATION] = attacker, generation
    search.state[MAX_WIDTH] = max_width


@inlined
def copy(source: Any, target: Any) -> None:
    """Copy the elements of one board to another."""
    for i in range(len(source)):
        target[i] = source[i]


@compiled(types.int64(_SEARCH, *[types.int64] * 3, _KERNELS), allocates=False)
def expand(search: WindowSearch, slot: int, ply: int, left: int, kernels: WindowKernels) -> int:
    """Create the children and the frame of a node.

    Returns the result if a child that ends the game decides it, otherwise _OPEN.
    """
    boards, actions, frame, state = search.boards, search.legal, search.frames[ply], search.state
    board = boards[slot]
    attacks = board[0] == state[ATTACKER]
    first = end = search.frames[ply - 1, END] if ply > 0 else 1
    for i in range(kernels.legal(board, actions)):
        child = boards[end]
        copy(board, child)
        kernels.play(child, actions[i])
        state[NODES] += 1
        if child[1] == 0:
            search.actions[end] = actions[i]
            end += 1
        elif (child[1] == state[ATTACKER]) == attacks:
            state[MOVE] = actions[i]
            return WIN if attacks else NEVER
    if end == first:
        return NEVER if attacks else WIN
    if left == 1:
        state[MOVE] = search.actions[first]
        return 1
    frame[SLOT] = slot
    frame[FIRST] = first
    frame[END] = end
    frame[LEFT] = left
    frame[SAFE_PLIES] = NEVER
    frame[BEFORE] = state[NODES]
    frame[ATTACKS] = attacks
    return _OPEN


@compiled("int64(int64)")
def one_ply_up(result: int) -> int:
    """Return the result of a child as seen from its parent, one ply earlier."""
    return result if result in (WIN, NEVER) else result + 1


@compiled(types.int64(_SEARCH, types.int64, types.int64, _KERNELS), allocates=False)
def safe_replies(search: WindowSearch, slot: int, free: int, kernels: WindowKernels) -> int:
    """Count the replies to the position in `slot` after which the opponent cannot win at once.

    Returns -1 if a reply wins. Uses the slots from `free` on. Proofs are found fastest in positions
    with few such replies: in Connect Four after threats, in Othello with low mobility.
    """
    boards, actions, state = search.boards, search.legal, search.state
    me = boards[slot][0]
    after, end = boards[free], boards[free + 1]
    safe = 0
    n = kernels.legal(boards[slot], actions)
    for i in range(n):
        copy(boards[slot], after)
        kernels.play(after, actions[i])
        state[NODES] += 1
        if after[1] == me:
            return -1
        lost = False
        if after[1] == 0 and after[0] != me:
            for j in range(n, n + kernels.legal(after, actions[n:])):
                copy(after, end)
                kernels.play(end, actions[j])
                state[NODES] += 1
                if end[1] == after[0]:
                    lost = True
                    break
        elif after[1] == 3 - me:
            lost = True
        if not lost:
            safe += 1
    return safe


@compiled(types.int64(_SEARCH, types.int64, types.int64, _KERNELS), allocates=False)
def order_children(search: WindowSearch, ply: int, table_move: int, kernels: WindowKernels) -> int:
    """Score the children of a node for the order of search.

    Returns the result if the table or a reply decides the node, otherwise _OPEN.
    """
    frame, state = search.frames[ply], search.state
    first, end, left = frame[FIRST], frame[END], frame[LEFT]
    role = frame[ATTACKS]
    history = search.history[2 * search.boards[frame[SLOT]][0] + role if ply > 0 else NOISE]
    for slot in range(first, end):
        action = search.actions[slot]
        child = search.boards[slot]
        score = history[action]
        if state[MAX_WIDTH] == SORTED:
            score = (first - slot) * ONE
        if action == table_move:
            score += _TABLE
        if left >= _REPLIES_FROM and state[MAX_WIDTH] != SORTED:
            # Enhanced transposition cutoffs (Plaat et al. 1996).
            known = _OPEN
            word = find(search.table, kernels.key(child) ^ state[GENERATION])
            if word != 0:
                known = known_result(word, state[ATTACKER])
                if known != WIN and known < left - 1:
                    known = _OPEN
            if known == _OPEN and child[0] != search.boards[frame[SLOT]][0]:
                if end - first <= state[MAX_WIDTH]:
                    replies = safe_replies(search, slot, end, kernels)
                    if replies == 0:
                        known = WIN if role else NEVER
                    elif replies < 0:
                        known = NEVER if role else WIN
                else:
                    replies = kernels.legal(child, search.legal)
                score -= replies * _REPLY
            if known != _OPEN:
                if (known == WIN) == (role != 0):
                    state[MOVE] = action
                    return one_ply_up(known)
                if role:
                    frame[SAFE_PLIES] = min(frame[SAFE_PLIES], one_ply_up(known))
                score = _DONE
        search.scores[slot] = score
    return _OPEN


@compiled(types.int64(_SEARCH, *[types.int64] * 3, _KERNELS), allocates=False)
def open_node(search: WindowSearch, slot: int, ply: int, left: int, kernels: WindowKernels) -> int:
    """Open the node in `slot`; return its result if it is known without a search, else _OPEN."""
    result = expand(search, slot, ply, left, kernels)
    if result != _OPEN or left == 1:
        return result
    table_move = -1
    if left >= _STORED_FROM:
        search.keys[slot] = kernels.key(search.boards[slot]) ^ search.state[GENERATION]
        word = find(search.table, search.keys[slot])
        if word != 0:
            known = known_result(word, search.state[ATTACKER])
            if ply > 0 and (known == WIN or known >= left):
                return known
            table_move = move(word)
    return order_children(search, ply, table_move, kernels)


@compiled(types.int64(_SEARCH, types.int64), allocates=False)
def choose_child(search: WindowSearch, ply: int) -> int:
    """Return the slot of the remaining child with the greatest score, 0 if none remains."""
    scores, best, best_score = search.scores, 0, _DONE
    for slot in range(search.frames[ply, FIRST], search.frames[ply, END]):
        if scores[slot] > best_score:
            best, best_score = slot, scores[slot]
    return best


@compiled(types.boolean(_SEARCH, *[types.int64] * 3), allocates=False)
def record_result(search: WindowSearch, ply: int, action: int, result: int) -> bool:
    """Record the result of a child, and return whether it decides the node."""
    frame = search.frames[ply]
    role = frame[ATTACKS]
    history = search.history[2 * search.boards[frame[SLOT]][0] + role]
    decides = (result == WIN) == (role != 0)
    if decides:
        history[action] += (ONE - history[action]) >> _MEMORY
    else:
        history[action] -= history[action] >> _MEMORY
        if role:
            frame[SAFE_PLIES] = min(frame[SAFE_PLIES], one_ply_up(result))
    return decides


@compiled(types.boolean(_SEARCH, *[types.int64] * 2, _KERNELS), allocates=False)
def advance(search: WindowSearch, depth: int, nodes: int, kernels: WindowKernels) -> bool:
    """Continue a search to a depth for about `nodes` nodes; return whether it has a result.

    `state[RESULT]` is WIN, or the number of plies within which the attacker cannot win;
    `state[MOVE]` is the root action that decided, or -1.
    """
    state = search.state
    until = state[NODES] + nodes
    ply = state[PLY]
    if ply < 0:
        ply = 0
        state[RESULT] = open_node(search, 0, 0, depth, kernels)
        if state[RESULT] != _OPEN:
            return True
    while state[NODES] < until:
        # Down: open the next child, if any is left.
        slot = choose_child(search, ply)
        action, result = -1, _OPEN
        if slot > 0:
            search.scores[slot] = _DONE
            action = search.actions[slot]
            result = open_node(search, slot, ply + 1, search.frames[ply, LEFT] - 1, kernels)
            if result == _OPEN:
                ply += 1
                state[DEEPEST] = max(state[DEEPEST], ply)
                continue

        # Up: while a result decides its parent, or was the last child's.
        while True:
            frame = search.frames[ply]
            if action < 0:
                result = frame[SAFE_PLIES] if frame[ATTACKS] else WIN
            elif record_result(search, ply, action, result):
                result = one_ply_up(result)
            else:
                break
            if frame[LEFT] >= _STORED_FROM:
                store(
                    search.table,
                    search.keys[frame[SLOT]],
                    state[ATTACKER],
                    result,
                    action,
                    state[GENERATION],
                    state[NODES] - frame[BEFORE],
                )
            if ply == 0:
                state[PLY] = -1
                state[RESULT] = result
                state[MOVE] = action
                return True
            ply -= 1
            action = search.actions[frame[SLOT]]
    state[PLY] = ply
    return False


def interpreted() -> Callable[..., bool]:
    """Return `advance` as plain Python, with all the functions that access boards."""
    functions = expand, order_children, safe_replies, open_node, choose_child, record_result
    return in_python(*functions, advance)["advance"]
