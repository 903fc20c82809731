"""Expectiminimax: the search of games with chance, with a net at its leaves (Michie 1966).

Where nature moves, the value is the mean over the outcomes by their weights; where a player moves,
it is that of the best action. The depth counts the moves of nature: a search of depth 1 compares
positions before the next roll. Deeper, only the candidates are searched: those actions that are
best by the net. Further actions of one player in a row, such as the second half of a double, take
no depth, but an action of the opponent without a roll before it does, as after `hold` at pig. In a
match of several games, which a net of one game evaluates, such actions decide about the cube, and a
roll comes soon; they take no depth, so that doubling and rolling are compared at equal depth.

Values are whole numbers, for player 1: the expected result times SCALE. Those beyond CERTAIN are
proven results, and the sooner a win, the greater its value. Where nature moves, a result is proven
only if it is after all outcomes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from playout.games import Board, Game, KernelGame, State
from playout.games.core.kernels import SIGNATURES, Pointer, compiled, entry_point
from playout.players.core.rules import Rules, rules_of
from playout.players.depth_first import LAST, MOST_PLIES, NODES, ROOT, STOPPED, SearchFunctions
from playout.players.evaluations.perceptron import (
    ACTIVATIONS,
    CHANCE_KERNELS,
    PERCEPTRON,
    Activations,
    ChanceKernels,
    Ints,
    Perceptron,
    expected_by,
    kernels_of,
    new_activations,
)

#: The value of an expected result of 1, the maximum value of a net, and the value of a win, less
#: the number of plies to it.
SCALE = CERTAIN = 1_000_000_000
WON = CERTAIN + 1000
#: Beyond all values.
MOST = 1 << 30
#: Actions that are searched deeper, unless more are wanted.
CANDIDATES = 5


class ChanceSearch(NamedTuple):
    """The memory of a search; `ply` counts from the root."""

    boards: Ints  # [ply, word]
    actions: Ints  # [ply, place] legal actions, or the outcomes of nature
    scores: Ints  # [ply, place] for the player to move; where nature moves, the weights
    history: Ints  # [ROOT, action] nodes below it
    net: Activations
    state: Ints  # [field], those of the principal-variation search
    reply: int  # the depth that the opponent's action takes if no roll comes before it


_V, _M = types.int64[::1], types.int64[:, ::1]
SEARCH = types.NamedTuple([_M, _M, _M, _M, ACTIVATIONS, _V, types.int64], ChanceSearch)


def new_search(game: Game, rules: Rules, net: Perceptron) -> ChanceSearch:
    """Return a search, which keeps nothing of a position for the next one."""
    words, plies = len(rules.board(game.initial_state())), MOST_PLIES + 2
    return ChanceSearch(
        np.zeros((plies, words), dtype=np.int64),
        np.zeros((plies, game.num_actions), dtype=np.int64),
        np.zeros((plies, game.num_actions), dtype=np.int64),
        np.zeros((1, game.num_actions), dtype=np.int64),
        new_activations(game, net),
        np.zeros(STOPPED + 1, dtype=np.int64),
        0 if game.net_game else 1,
    )


@compiled(types.int64(SEARCH, CHANCE_KERNELS, PERCEPTRON, types.int64), allocates=False)
def value_before_roll(
    search: ChanceSearch, kernels: ChanceKernels, net: Perceptron, ply: int
) -> int:
    """Return the value of a position by its outcome or the net."""
    board, state = search.boards[ply], search.state
    state[NODES] += 1
    if state[NODES] > state[LAST]:
        state[STOPPED] = 1
    if board[1] != 0:
        return 0 if board[1] < 0 else WON - ply if board[1] == 1 else ply - WON
    return int(expected_by(kernels, net, search.net, board) * SCALE)


@compiled(types.void(SEARCH, CHANCE_KERNELS, *[types.int64] * 2), allocates=False)
def play_on(search: ChanceSearch, kernels: ChanceKernels, ply: int, action: int) -> None:
    """Set the board of the next ply to the position after an action."""
    board, child = search.boards[ply], search.boards[ply + 1]
    for word in range(len(board)):
        child[word] = board[word]
    kernels.play(child, action)


@compiled(types.void(SEARCH, *[types.int64] * 3), allocates=False)
def bring_best_first(search: ChanceSearch, ply: int, place: int, n: int) -> None:
    """Move the action with the greatest score among those from `place` on to this place."""
    actions, scores = search.actions[ply], search.scores[ply]
    best = place
    for each in range(place + 1, n):
        if scores[each] > scores[best]:
            best = each
    action, score = actions[best], scores[best]
    for each in range(best, place, -1):
        actions[each], scores[each] = actions[each - 1], scores[each - 1]
    actions[place], scores[place] = action, score


@compiled(types.int64(SEARCH, CHANCE_KERNELS, PERCEPTRON, *[types.int64] * 2), allocates=False)
def value_of(
    search: ChanceSearch, kernels: ChanceKernels, net: Perceptron, ply: int, depth: int
) -> int:
    """Return the value of a position, searched for `depth` moves of nature."""
    state, board, scores = search.state, search.boards[ply], search.scores[ply]
    nature, player = board[0] == 0, board[0]
    if board[1] != 0 or ply >= MOST_PLIES or (nature and depth <= 0):
        return value_before_roll(search, kernels, net, ply)
    n = kernels.legal(board, search.actions[ply])
    if nature:
        kernels.chances(board, scores)
        mean = total = 0
        lowest, highest = MOST, -MOST
        for place in range(n):
            play_on(search, kernels, ply, search.actions[ply, place])
            value = value_of(search, kernels, net, ply + 1, depth - 1)
            if state[STOPPED] != 0:
                return 0
            total += scores[place]
            mean += scores[place] * value
            lowest, highest = min(lowest, value), max(highest, value)
        mean //= total
        if lowest <= CERTAIN and mean > CERTAIN:
            return CERTAIN
        if highest >= -CERTAIN and mean < -CERTAIN:
            return -CERTAIN
        return mean
    sign, best = 3 - 2 * player, -MOST
    for place in range(n):
        play_on(search, kernels, ply, search.actions[ply, place])
        if search.boards[ply + 1, 0] == player and search.boards[ply + 1, 1] == 0:
            # No constant: numba would not find the function of a recursion with a literal.
            scores[place] = sign * value_of(search, kernels, net, ply + 1, min(0, depth))
        else:
            scores[place] = sign * value_before_roll(search, kernels, net, ply + 1)
        best = max(best, scores[place])
        if state[STOPPED] != 0:
            return 0
    if depth <= 0 or best > CERTAIN:
        return sign * best
    best = -MOST
    for place in range(min(n, CANDIDATES)):
        bring_best_first(search, ply, place, n)
        play_on(search, kernels, ply, search.actions[ply, place])
        taken = search.reply * (search.boards[ply + 1, 0] == 3 - player)
        best = max(best, sign * value_of(search, kernels, net, ply + 1, depth - taken))
        if state[STOPPED] != 0:
            return 0
    return sign * best


@compiled(types.int64(SEARCH, CHANCE_KERNELS, PERCEPTRON, *[types.int64] * 3), allocates=False)
def search_root(
    search: ChanceSearch, kernels: ChanceKernels, net: Perceptron, n: int, depth: int, wanted: int
) -> int:
    """Search the first actions of the root; return `n`, or the number that were searched if fewer.

    At depth 1, these are all `n` actions, later `wanted` or CANDIDATES of them. They are then in
    order, the best first, with exact scores.
    """
    actions, scores, state = search.actions[0], search.scores[0], search.state
    sign = 3 - 2 * search.boards[0, 0]
    count = n if depth == 1 else min(n, max(wanted, CANDIDATES))
    for place in range(count):
        action, before = actions[place], state[NODES]
        play_on(search, kernels, 0, action)
        taken = search.reply * (search.boards[1, 0] == 3 - search.boards[0, 0])
        value = sign * value_of(search, kernels, net, 1, depth - 1 - taken)
        search.history[ROOT, action] += state[NODES] - before
        if state[STOPPED] != 0:
            return place
        scores[place] = value
        for earlier in range(place):
            bring_best_first(search, 0, earlier, place + 1)
    return n


def start(search: Any, board: Board, number: int) -> None:
    """Set the root; `number` is that of searches that keep a table."""
    search.boards[0][:] = board
    search.history[:] = 0
    search.state[:] = 0
    search.state[LAST] = 1 << 62


@compiled(
    types.void(
        *(SEARCH, CHANCE_KERNELS, PERCEPTRON, types.FunctionType(SIGNATURES["read"])),
        *(
            _V,
            types.int64,
            types.float64,
            _M,
            _V,
            _M,
            _V,
            types.float32[:, ::1],
            types.float32[::1],
        ),
    ),
    allocates=False,
)
def value_actions(
    search: ChanceSearch,
    kernels: ChanceKernels,
    net: Perceptron,
    read: Callable[..., None],
    origin: Board,
    n: int,
    scale: float,
    states: Ints,
    players: Ints,
    legal: Ints,
    counts: Ints,
    logits: NDArray[np.float32],
    values: NDArray[np.float32],
) -> None:
    """Set the values of `n` states, for the players, and the logits of their legal actions.

    They are the expected results of the best action and of each one, from -1 to 1; those of actions
    are multiplied by `scale`. Where nature moves, there are no actions to be valued.
    """
    board, scores = search.boards[0], search.scores[0]
    for each in range(n):
        for word in range(len(board)):
            board[word] = origin[word]
        read(states[each], board)
        value = value_of(search, kernels, net, 0, 0) / SCALE
        values[each] = max(-1.0, min(1.0, value)) * (3 - 2 * players[each])
        for place in range(counts[each]):
            score = max(-1.0, min(1.0, scores[place] / SCALE))
            logits[each, legal[each, place]] = scale * score


def action_values(game: KernelGame, net: Perceptron, scale: float) -> Callable[..., None]:
    """Return `value_actions` for a game and a net, as a function of `n`, `states` and the rest."""
    rules = rules_of(game)
    search, origin = new_search(game, rules, net), game.board()
    start(search, origin, 0)
    given = search, kernels_of(game, rules), net, Pointer(game.kernels.read), origin
    call = entry_point(value_actions)
    return lambda n, *arrays: call(*given, n, scale, *arrays)


def expectation(game: Game, net: Perceptron) -> Callable[[State], float]:
    """Return a function for the expected result of player 1 in a position, from -1 to 1.

    It is that of the best move by the net where a player moves, and the net's own before a roll.
    """
    rules = rules_of(game)
    kernels, search = kernels_of(game, rules), new_search(game, rules, net)

    def expected(state: State) -> float:
        start(search, rules.board(state), 0)
        return FUNCTIONS.expected_of(value_of(search, kernels, net, 0, 0))

    return expected


FUNCTIONS = SearchFunctions(
    start=start,
    best_action=lambda search, board: None,  # a line ends before the next roll
    search_root=search_root,
    first_look=None,
    expected_of=lambda value: max(-1.0, min(1.0, value / SCALE)),
    certain=CERTAIN,
)
