"""The search of minimax: can one player, the attacker, force a win within so many plies?

A value of minimax is won, tied or lost, so alpha-beta with a null window is a test with two
answers, and two tests, one for each player, say all. Where the attacker moves, one move that wins
will do; where the other moves, all must lose. What lies beyond the depth counts as no win, and
the answer tells for how many plies it holds: NEVER if nothing beyond could change it.

It is compiled once for all games: the rules come in as function pointers. The same source runs
uncompiled over a game in plain Python. It has its own stack, so that it can stop at any node and
go on later.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from games import Game
from games.core.kernels import SIGNATURES, compiled, inlined, uncompiled
from players.alphabeta import transposition
from players.alphabeta.transposition import NEVER, WIN, Rows, find, lasts, store
from players.core.rules import Rules

Ints = NDArray[np.int64]


class WindowSearch(NamedTuple):
    """One test, as far as it has come.

    Slots hold the positions of the open nodes and of their children: slot 0 the root, then the
    children of each node on the path, one after the other.
    """

    boards: Any  # [slot] board
    actions: Ints  # [slot] that leads to it
    keys: Ints  # [slot] in the table, of open nodes
    scores: Ints  # [slot] the greatest is tried first, DONE are those that were
    frames: Ints  # [ply, field] of the open nodes, see below
    legal: Ints  # [3 * legal actions] room to work in
    history: Ints  # [2 * player + role, action] how often it decides, a moving average; see NOISE
    table: Rows
    state: Ints  # [field], see below


# The fields of a frame: its own slot, its children's, the plies that it looks ahead, for how many
# the attacker is known not to win, the nodes when it was opened, and whether the attacker moves.
SLOT, FIRST, END, LEFT, LASTS, BEFORE, ATTACKS = range(7)
# The fields of the state: the ply of the open node, the nodes so far, who attacks, the greatest
# ply, the result and the root's action that decided it, or -1, which search of the table this is,
# and up to how many legal actions the replies to each are looked at.
PLY, NODES, ATTACKER, DEEPEST, RESULT, MOVE, NUMBER, WIDEST = range(8)

#: The row of the history that serves the root: any numbers below ONE, for the order of equals.
NOISE = 0
#: An action that always decides.
ONE = 1 << 16
_OPEN = -2
_DONE = -(1 << 62)
#: As many legal actions as are looked at: none, for they come sorted, without those that lose.
SORTED = -1
#: What outweighs what, among the children of a node: the table, each reply, the history.
_TABLE, _REPLY = 1 << 50, 1 << 30
#: Nearer to the horizon than so many plies, looking into the table, or at replies, costs too much.
_STORED_FROM, _LOOKED_AT_FROM = 3, 6
#: Each try moves the history by 2**-8 of the way.
_MEMORY = 8
#: Bytes of boards, which bound the depth of games with many large ones.
_BOARDS = 2**26

_V, _M = types.int64[::1], types.int64[:, ::1]
_SEARCH = types.NamedTuple([_M, _V, _V, _V, _M, _V, _M, _M, _V], WindowSearch)
_LEGAL, _PLAY = types.FunctionType(SIGNATURES["legal"]), types.FunctionType(SIGNATURES["play"])
_KEY = types.FunctionType(types.int64(_V))


def new_history(game: Game) -> Ints:
    """The rows NOISE, unused, and those of both players."""
    return np.zeros((6, game.num_actions), dtype=np.int64)


def new_search(game: Game, rules: Rules, rows: Rows, history: Ints) -> WindowSearch:
    """A search with a stack of its own; the table and the history can be shared."""
    words = len(rules.board(game.initial_state()))
    plies = max(1, min(game.max_plies, NEVER - 1, _BOARDS // (8 * words * game.num_actions)))
    slots = plies * game.num_actions + 3
    boards: Any = [rules.board(game.initial_state()) for _ in range(slots)]
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


def deepest(search: WindowSearch) -> int:
    """For how many plies it has room."""
    return len(search.frames) - 1


def begin(search: WindowSearch, root: Any, attacker: int, number: int, widest: int) -> None:
    """Let it test whether `attacker` wins from the board `root`.

    Of the table it uses what searches of the same `number` put there. With at most `widest` legal
    actions, it looks at the replies to each.
    """
    search.boards[0][:] = root
    search.state[:] = 0
    search.state[[PLY, MOVE]] = -1
    search.state[ATTACKER], search.state[NUMBER] = attacker, number
    search.state[WIDEST] = widest


@inlined
def copy(source: Any, target: Any) -> None:
    """Make a board the same as another."""
    for i in range(len(source)):
        target[i] = source[i]


@compiled(types.int64(_SEARCH, *[types.int64] * 3, _LEGAL, _PLAY), allocates=False)
def play_all(
    search: WindowSearch,
    slot: int,
    ply: int,
    left: int,
    legal: Callable[..., int],
    play: Callable[..., None],
) -> int:
    """Make the children of a node and its frame; the result, if one of them ends the game so."""
    boards, actions, frame, state = search.boards, search.legal, search.frames[ply], search.state
    board = boards[slot]
    attacks = board[0] == state[ATTACKER]
    first = end = search.frames[ply - 1, END] if ply > 0 else 1
    for i in range(legal(board, actions)):
        child = boards[end]
        copy(board, child)
        play(child, actions[i])
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
    frame[LASTS] = NEVER
    frame[BEFORE] = state[NODES]
    frame[ATTACKS] = attacks
    return _OPEN


@compiled("int64(int64)")
def one_more(result: int) -> int:
    """A child's result, a ply earlier."""
    return result if result in (WIN, NEVER) else result + 1


@compiled(types.int64(_SEARCH, types.int64, types.int64, _LEGAL, _PLAY), allocates=False)
def safe_replies(
    search: WindowSearch, slot: int, free: int, legal: Callable[..., int], play: Callable[..., None]
) -> int:
    """How many replies to the position in `slot` do not let the other win at once; -1 if one wins.

    Uses the slots from `free`. Fewest first is what proves most: in Connect Four because threats
    are made, in Othello because few moves are left.
    """
    boards, actions, state = search.boards, search.legal, search.state
    me = boards[slot][0]
    after, end = boards[free], boards[free + 1]
    safe = 0
    n = legal(boards[slot], actions)
    for i in range(n):
        copy(boards[slot], after)
        play(after, actions[i])
        state[NODES] += 1
        if after[1] == me:
            return -1
        lost = False
        if after[1] == 0 and after[0] != me:
            for j in range(n, n + legal(after, actions[n:])):
                copy(after, end)
                play(end, actions[j])
                state[NODES] += 1
                if end[1] == after[0]:
                    lost = True
                    break
        elif after[1] == 3 - me:
            lost = True
        if not lost:
            safe += 1
    return safe


@compiled(types.int64(_SEARCH, types.int64, types.int64, _LEGAL, _PLAY, _KEY), allocates=False)
def arrange(
    search: WindowSearch,
    ply: int,
    favourite: int,
    legal: Callable[..., int],
    play: Callable[..., None],
    key: Callable[..., int],
) -> int:
    """Score the children of a node, by what decides soonest; the result, if one decides now."""
    frame, state = search.frames[ply], search.state
    first, end, left = frame[FIRST], frame[END], frame[LEFT]
    role = frame[ATTACKS]
    history = search.history[2 * search.boards[frame[SLOT]][0] + role if ply > 0 else NOISE]
    for slot in range(first, end):
        action = search.actions[slot]
        child = search.boards[slot]
        score = history[action]
        if state[WIDEST] == SORTED:
            score = (first - slot) * ONE
        if action == favourite:
            score += _TABLE
        if left >= _LOOKED_AT_FROM and state[WIDEST] != SORTED:
            # Enhanced transposition cutoffs (Plaat et al. 1996).
            known = _OPEN
            word = find(search.table, key(child) ^ state[NUMBER])
            if word != 0:
                known = lasts(word, state[ATTACKER])
                if known != WIN and known < left - 1:
                    known = _OPEN
            if known == _OPEN and child[0] != search.boards[frame[SLOT]][0]:
                if end - first <= state[WIDEST]:
                    replies = safe_replies(search, slot, end, legal, play)
                    if replies == 0:
                        known = WIN if role else NEVER
                    elif replies < 0:
                        known = NEVER if role else WIN
                else:
                    replies = legal(child, search.legal)
                score -= replies * _REPLY
            if known != _OPEN:
                if (known == WIN) == (role != 0):
                    state[MOVE] = action
                    return one_more(known)
                if role:
                    frame[LASTS] = min(frame[LASTS], one_more(known))
                score = _DONE
        search.scores[slot] = score
    return _OPEN


@compiled(types.int64(_SEARCH, *[types.int64] * 3, _LEGAL, _PLAY, _KEY), allocates=False)
def enter(
    search: WindowSearch,
    slot: int,
    ply: int,
    left: int,
    legal: Callable[..., int],
    play: Callable[..., None],
    key: Callable[..., int],
) -> int:
    """Open the node in `slot`; its result, if that is seen at once, otherwise _OPEN."""
    result = play_all(search, slot, ply, left, legal, play)
    if result != _OPEN or left == 1:
        return result
    favourite = -1
    if left >= _STORED_FROM:
        search.keys[slot] = key(search.boards[slot]) ^ search.state[NUMBER]
        word = find(search.table, search.keys[slot])
        if word != 0:
            known = lasts(word, search.state[ATTACKER])
            if ply > 0 and (known == WIN or known >= left):
                return known
            favourite = transposition.move(word)
    return arrange(search, ply, favourite, legal, play, key)


@compiled(types.int64(_SEARCH, types.int64), allocates=False)
def choose_child(search: WindowSearch, ply: int) -> int:
    """The slot of the most promising child that is left, 0 if none is."""
    scores, best, best_score = search.scores, 0, _DONE
    for slot in range(search.frames[ply, FIRST], search.frames[ply, END]):
        if scores[slot] > best_score:
            best, best_score = slot, scores[slot]
    return best


@compiled(types.boolean(_SEARCH, *[types.int64] * 3), allocates=False)
def learn(search: WindowSearch, ply: int, action: int, result: int) -> bool:
    """Take in the result of a child; does it decide the node?"""
    frame = search.frames[ply]
    role = frame[ATTACKS]
    history = search.history[2 * search.boards[frame[SLOT]][0] + role]
    decides = (result == WIN) == (role != 0)
    if decides:
        history[action] += (ONE - history[action]) >> _MEMORY
    else:
        history[action] -= history[action] >> _MEMORY
        if role:
            frame[LASTS] = min(frame[LASTS], one_more(result))
    return decides


@compiled(types.boolean(_SEARCH, *[types.int64] * 2, _LEGAL, _PLAY, _KEY), allocates=False)
def advance(
    search: WindowSearch,
    depth: int,
    nodes: int,
    legal: Callable[..., int],
    play: Callable[..., None],
    key: Callable[..., int],
) -> bool:
    """Go on with a search, to that depth, for about so many nodes; is there a result?

    It is in `state[RESULT]`: WIN, or for how many plies the attacker does not win, and in
    `state[MOVE]` the action at the root that decided, -1 if none did.
    """
    state = search.state
    until = state[NODES] + nodes
    ply = state[PLY]
    if ply < 0:
        ply = 0
        state[RESULT] = enter(search, 0, 0, depth, legal, play, key)
        if state[RESULT] != _OPEN:
            return True
    while state[NODES] < until:
        # Down: open the next child, or find that there is none.
        slot = choose_child(search, ply)
        action, result = -1, _OPEN
        if slot > 0:
            search.scores[slot] = _DONE
            action = search.actions[slot]
            result = enter(search, slot, ply + 1, search.frames[ply, LEFT] - 1, legal, play, key)
            if result == _OPEN:
                ply += 1
                state[DEEPEST] = max(state[DEEPEST], ply)
                continue

        # Up: as long as a result decides the node above it, or was the last.
        while True:
            frame = search.frames[ply]
            if action < 0:
                result = frame[LASTS] if frame[ATTACKS] else WIN
            elif learn(search, ply, action, result):
                result = one_more(result)
            else:
                break
            if frame[LEFT] >= _STORED_FROM:
                store(
                    search.table,
                    search.keys[frame[SLOT]],
                    state[ATTACKER],
                    result,
                    action,
                    state[NUMBER],
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
    """`advance` as plain Python, and with it all that touches a board."""
    names = dict(globals())
    for function in (copy, enter, play_all, arrange, safe_replies, choose_child, learn, advance):
        source = uncompiled(function)
        names[source.__name__] = FunctionType(source.__code__, names)
    return names["advance"]
