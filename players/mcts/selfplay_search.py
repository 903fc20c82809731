"""Self-play guided by a net: many games at a time, a leaf of each in every batch.

The games run in compiled code, which records samples for learning. Each game has a tree, which is
cleared after every move.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from playout.games import KernelGame
from playout.games.core.kernels import SIGNATURES, compiled, inlined
from playout.games.core.random import Rng, draw
from playout.players.mcts.puct_simulation import (
    EVALUATE,
    NET_BUFFERS,
    WAITING,
    NetBuffers,
    absorb,
    discard,
    root_of,
    simulate,
)
from playout.players.mcts.tree import LOSS, TIE, TREE, UNKNOWN, WIN, Tree, clear_node
from playout.players.mcts.uct_simulation import (
    CONFIG,
    SEARCH_KERNELS,
    SearchConfig,
    SearchKernels,
)

#: Random shares are compared with a number below this.
_WHOLE = 2**16
#: The counters, by their index in `Games.counters`.
SAMPLES, GAMES, PLIES, FIRST_WINS, TIES, SIMULATIONS, EVALUATIONS = range(7)


class Schedule(NamedTuple):
    """The settings of games: searches, openings, and how moves are drawn."""

    simulations: int  # of a full search, from which the net learns
    quick_simulations: int  # of the other searches
    full_share: int  # of the moves, in 1/65536
    opening_share: int  # of the games with random moves at the start, in 1/65536
    opening_plies: int  # most random moves
    temperature_plies: int  # moves before this ply are drawn in proportion to their visits
    handicap_share: int  # of the games in which one player has a handicap, in 1/65536
    search: SearchConfig


class Games(NamedTuple):
    """The games that are played, and the samples of those that have ended."""

    origin: NDArray[np.int64]  # [word] board of the first position
    boards: NDArray[np.int64]  # [game, word]
    last: NDArray[np.int64]  # [game] the action that led to the position, or -1
    ply: NDArray[np.int64]  # [game]
    left: NDArray[np.int64]  # [game] simulations left for the move
    full: NDArray[np.int64]  # [game] whether the net learns from the move
    length: NDArray[np.int64]  # [game] samples so far
    handicapped: NDArray[np.int64]  # [game] the player that moves without search, or 0
    states: NDArray[np.int64]  # [game, sample, word]
    actions: NDArray[np.int16]  # [game, sample] the action that led to the state, or -1
    players: NDArray[np.int16]  # [game, sample] the player to move
    policies: NDArray[np.float32]  # [game, sample, action] shares of the visits
    values: NDArray[np.float32]  # [game, sample] of the search, -1 to 1 for the player to move
    done_states: NDArray[np.int64]  # [row, word] samples of the ended games
    done_actions: NDArray[np.int16]  # [row]
    done_policies: NDArray[np.float32]  # [row, action]
    done_values: NDArray[np.float32]  # [row]
    done_outcomes: NDArray[np.float32]  # [row] 1, 0 or -1 for the player to move
    counters: NDArray[np.int64]  # see SAMPLES and the following
    weights: NDArray[np.float32]  # [child] working memory
    priors: NDArray[np.float32]  # [game, action] policy of the net at the root, without noise


_READ, _PLAYOUT = (types.FunctionType(SIGNATURES[name]) for name in ("read", "playout"))
_VECTOR, _TABLE = types.int64[::1], types.int64[:, ::1]
_SHORT_ROW, _FLOAT_ROW = types.int16[:, ::1], types.float32[:, ::1]
_GAMES = types.NamedTuple(
    [
        _VECTOR, _TABLE, _VECTOR, _VECTOR, _VECTOR, _VECTOR, _VECTOR, _VECTOR,
        types.int64[:, :, ::1], _SHORT_ROW, _SHORT_ROW, types.float32[:, :, ::1], _FLOAT_ROW,
        _TABLE, types.int16[::1], _FLOAT_ROW, types.float32[::1], types.float32[::1],
        _VECTOR, types.float32[::1], _FLOAT_ROW,
    ],
    Games,
)  # fmt: skip
_SCHEDULE = types.NamedTuple([*[types.int64] * 7, CONFIG], Schedule)


def share(part: float) -> int:
    """Return a share from 0 to 1 in units of 1/65536, as `Schedule` holds it."""
    return round(part * _WHOLE)


def new_games(game: KernelGame, at_a_time: int, samples: int) -> Games:
    """Return arrays for `at_a_time` games, and for `samples` samples of ended games and some more.

    All games begin with the first call of `play_games`.
    """
    plies, words, actions = game.max_plies, len(game.initial_state()), game.num_actions
    rows = samples + at_a_time * plies

    def zeros() -> NDArray[np.int64]:
        return np.zeros(at_a_time, dtype=np.int64)

    return Games(
        origin=game.board(),
        boards=np.stack([game.board()] * at_a_time),
        last=zeros(),
        ply=zeros(),
        left=zeros(),
        full=zeros(),
        length=zeros(),
        handicapped=zeros(),
        states=np.zeros((at_a_time, plies, words), dtype=np.int64),
        actions=np.zeros((at_a_time, plies), dtype=np.int16),
        players=np.zeros((at_a_time, plies), dtype=np.int16),
        policies=np.zeros((at_a_time, plies, actions), dtype=np.float32),
        values=np.zeros((at_a_time, plies), dtype=np.float32),
        done_states=np.zeros((rows, words), dtype=np.int64),
        done_actions=np.zeros(rows, dtype=np.int16),
        done_policies=np.zeros((rows, actions), dtype=np.float32),
        done_values=np.zeros(rows, dtype=np.float32),
        done_outcomes=np.zeros(rows, dtype=np.float32),
        counters=np.zeros(7, dtype=np.int64),
        weights=np.zeros(actions, dtype=np.float32),
        priors=np.zeros((at_a_time, actions), dtype=np.float32),
    )


@inlined
def start_tree(tree: Tree, number: int) -> None:
    """Clear a tree but for an unvisited root."""
    root = root_of(tree, number)
    clear_node(tree, root)
    tree.guide[root].pending = 0
    tree.guide[root].tie = 0
    tree.used[number] = root + 1


@inlined
def start_move(games: Games, number: int, tree: Tree, schedule: Schedule, rng: Rng) -> None:
    """Draw the number of simulations for the next move."""
    start_tree(tree, number)
    full = draw(rng, _WHOLE) < schedule.full_share
    games.full[number] = 1 if full else 0
    games.left[number] = schedule.simulations if full else schedule.quick_simulations
    if not full and games.handicapped[number] == games.boards[number, 0]:
        games.left[number] = 1  # gives the policy


@inlined
def start_game(
    games: Games, number: int, kernels: SearchKernels, buffers: NetBuffers, schedule: Schedule
) -> None:
    """Set the first position, after random moves in some of the games."""
    board, actions, rng = games.boards[number], buffers.actions, buffers.rng
    wanted = 0
    if schedule.opening_plies > 0 and draw(rng, _WHOLE) < schedule.opening_share:
        wanted = 1 + draw(rng, schedule.opening_plies)
    while True:
        for i in range(len(games.origin)):
            board[i] = games.origin[i]
        games.last[number] = -1
        for _ in range(wanted):
            if board[1] == 0:
                games.last[number] = actions[draw(rng, kernels.legal(board, actions))]
                kernels.play(board, games.last[number])
        if board[1] == 0:
            break
        wanted -= 1  # the game ended
    games.ply[number] = wanted
    games.length[number] = 0
    games.handicapped[number] = 0
    if schedule.handicap_share > 0 and draw(rng, _WHOLE) < schedule.handicap_share:
        games.handicapped[number] = 1 + draw(rng, 2)


@inlined
def weigh_children(tree: Tree, root: int, weights: Any) -> Any:
    """Set the weights of the children of a root, in the order of their rows; return the sum.

    The weights are the visits, corrected for proofs, as proven children are not visited again: if a
    win is proven, only wins count; proven losses count only if all children are lost; and if no
    unproven child has the mean of a tie, the proven ties together count as much as all visits.
    """
    first, width = np.int64(tree.nodes[root].first_child), np.int64(tree.nodes[root].width)
    wins, losses, ties, visits, hope = 0, 0, 0, np.float32(0.0), np.float32(0.0)
    for i in range(width):
        each = tree.nodes[first + i]
        wins += each.proof == WIN
        losses += each.proof == LOSS
        ties += each.proof == TIE
        visits += np.float32(each.visits)
        if each.proof == UNKNOWN and each.visits > 0:
            hope = max(hope, each.average)
    total = np.float32(0.0)
    for i in range(width):
        each = tree.nodes[first + i]
        weight = np.float32(each.visits)
        if wins > 0:
            weight = np.float32(1.0) if each.proof == WIN else np.float32(0.0)
        elif each.proof == LOSS and losses < width:
            weight = np.float32(0.0)
        elif each.proof == TIE and hope < np.float32(0.5):
            weight = visits / np.float32(ties)
        weights[i] = weight
        total += weight
    return total


@inlined
def chosen_child(tree: Tree, root: int, weights: Any, total: Any, drawn: bool, rng: Rng) -> int:
    """Return the row of the child with the greatest weight, or of one that is drawn by weight."""
    first, width = np.int64(tree.nodes[root].first_child), np.int64(tree.nodes[root].width)
    best = 0
    for i in range(width):
        if weights[i] > weights[best]:
            best = i
    if drawn and total > 0:
        left = np.float32(draw(rng, _WHOLE)) / np.float32(_WHOLE) * total
        for i in range(width):
            left -= weights[i]
            if left < 0:
                return int(first + i)
    return int(first + best)


@inlined
def weigh_by_policy(games: Games, number: int, tree: Tree, root: int) -> Any:
    """Set the weights of the children of a root to the policy without noise; return the sum."""
    first, width = np.int64(tree.nodes[root].first_child), np.int64(tree.nodes[root].width)
    total = np.float32(0.0)
    for i in range(width):
        weight = tree.guide[first + i].prior
        if games.full[number] == 1:  # its priors have noise
            weight = games.priors[number, tree.nodes[first + i].action]
        games.weights[i] = weight
        total += weight
    return total


@inlined
def next_child(games: Games, number: int, tree: Tree, root: int, plies: int, rng: Rng) -> int:
    """Return the row of the child to play, which is drawn before the ply `plies`."""
    drawn = games.ply[number] < plies
    handicapped = games.handicapped[number] == games.boards[number, 0]
    if handicapped and tree.nodes[root].proof == UNKNOWN:
        total = weigh_by_policy(games, number, tree, root)
        return chosen_child(tree, root, games.weights, total, True, rng)
    total = weigh_children(tree, root, games.weights)
    return chosen_child(tree, root, games.weights, total, drawn, rng)


@inlined
def record(games: Games, number: int, tree: Tree, root: int, weights: Any, total: Any) -> None:
    """Add the position and the result of its search to the samples of a game."""
    row = games.length[number]
    board = games.boards[number]
    games.length[number] += 1
    games.actions[number, row] = games.last[number]
    games.players[number, row] = board[0]
    each = tree.nodes[root]
    first = np.int64(each.first_child)
    for action in range(games.policies.shape[2]):
        games.policies[number, row, action] = np.float32(0.0)
    for i in range(each.width):
        share = weights[i] / max(total, np.float32(1.0))
        games.policies[number, row, tree.nodes[first + i].action] = share
    # The mean of a root is that of the player who moved into it.
    games.values[number, row] = np.float32(1.0) - np.float32(2.0) * max(
        np.float32(0.0), each.average
    )


@inlined
def prune_policy(games: Games, number: int, tree: Tree, root: int, c: Any, total: Any) -> Any:
    """Reduce the weights to the visits that a search without noise would make; return the sum.

    A child keeps the visits up to which its score by PUCT, with the policy without noise, is as
    high as that of the most visited child (policy target pruning: Wu 2019, KataGo, section 3.2).
    """
    first, width = np.int64(tree.nodes[root].first_child), np.int64(tree.nodes[root].width)
    weights, best = games.weights, 0
    for i in range(width):
        if tree.nodes[first + i].proof != UNKNOWN:
            return total  # proofs count as they are
        if weights[i] > weights[best]:
            best = i
    scale = np.float32(c) * np.float32(math.sqrt(max(total, np.float32(1.0))))
    each = tree.nodes[first + best]
    highest = np.float32(2.0) * each.average - np.float32(1.0)
    highest += scale * games.priors[number, each.action] / (np.float32(1.0) + weights[best])
    kept = np.float32(0.0)
    for i in range(width):
        each = tree.nodes[first + i]
        if i != best and weights[i] > 0:
            behind = highest - (np.float32(2.0) * each.average - np.float32(1.0))
            if behind > 0:
                most = scale * games.priors[number, each.action] / behind - np.float32(1.0)
                weights[i] = min(weights[i], most) if most >= 1 else np.float32(0.0)
        kept += weights[i]
    return kept


@inlined
def finish_game(games: Games, number: int) -> None:
    """Move the samples of an ended game to those of all ended games."""
    outcome, counters = games.boards[number, 1], games.counters
    for row in range(games.length[number]):
        to = counters[SAMPLES]
        for word in range(games.states.shape[2]):
            games.done_states[to, word] = games.states[number, row, word]
        for action in range(games.policies.shape[2]):
            games.done_policies[to, action] = games.policies[number, row, action]
        games.done_actions[to] = games.actions[number, row]
        games.done_values[to] = games.values[number, row]
        mine = np.float32(1.0) if outcome == games.players[number, row] else np.float32(-1.0)
        games.done_outcomes[to] = np.float32(0.0) if outcome < 0 else mine
        counters[SAMPLES] += 1
    counters[GAMES] += 1
    counters[PLIES] += games.ply[number]
    counters[FIRST_WINS] += 1 if outcome == 1 else 0
    counters[TIES] += 1 if outcome < 0 else 0


@compiled(
    types.void(_GAMES, TREE, SEARCH_KERNELS, EVALUATE, NET_BUFFERS, _SCHEDULE, types.int64),
    allocates=False,
)
def play_games(
    games: Games,
    tree: Tree,
    kernels: SearchKernels,
    evaluate: Callable[[int], int],
    buffers: NetBuffers,
    schedule: Schedule,
    samples: int,
) -> None:
    """Play games until those that ended have `samples`, or `evaluate` returns 0.

    `evaluate(n)` has the net evaluate the first `n` leaves, as in
    `playout.players.mcts.puct_simulation`. The games continue those of the last call.
    """
    rng, config = buffers.rng, schedule.search
    number_of_games = len(games.last)
    while games.counters[SAMPLES] < samples:
        n = 0
        for number in range(number_of_games):
            root, waiting = root_of(tree, number), False
            while not waiting:
                if tree.used[number] == 0:  # before the first game
                    start_game(games, number, kernels, buffers, schedule)
                    start_move(games, number, tree, schedule, rng)
                elif games.left[number] <= 0 or tree.nodes[root].proof != UNKNOWN:
                    board = games.boards[number]
                    best = next_child(games, number, tree, root, schedule.temperature_plies, rng)
                    if games.full[number] == 1:
                        kernels.write(board, games.states[number, games.length[number]])
                        total = weigh_children(tree, root, games.weights)
                        total = prune_policy(games, number, tree, root, config.selection.c, total)
                        record(games, number, tree, root, games.weights, total)
                    games.last[number] = tree.nodes[best].action
                    kernels.play(board, games.last[number])
                    games.ply[number] += 1
                    if board[1] != 0:
                        finish_game(games, number)
                        start_game(games, number, kernels, buffers, schedule)
                    start_move(games, number, tree, schedule, rng)
                result = simulate(
                    tree,
                    number,
                    games.boards[number],
                    games.last[number],
                    kernels,
                    buffers,
                    n,
                    config,
                )
                games.left[number] -= 1
                games.counters[SIMULATIONS] += 1
                waiting = result == WAITING
            n += 1
        games.counters[EVALUATIONS] += n
        if evaluate(n) == 0:
            discard(tree, buffers.leaves, n)
            return
        absorb(tree, buffers, n, config)


@compiled(
    types.void(NET_BUFFERS, types.int64, types.int64[::1], _READ, _PLAYOUT),
    allocates=False,
)
def evaluate_by_playouts(
    buffers: NetBuffers,
    n: int,
    origin: Any,
    read: Callable[..., None],
    playout: Callable[..., int],
) -> None:
    """Set the values of the first n leaves by playouts: 1, 0 or -1 for the player to move.

    A net with random weights does not guide a search: in long games both players move almost at
    random. Until it has learned, playouts are better and faster (Wang, Preuss & Plaat 2020,
    "Warm-Start AlphaZero Self-Play Search Enhancements"). `origin` is the board of the first
    position.
    """
    board, leaves = buffers.board, buffers.leaves
    for leaf in range(n):
        for i in range(len(origin)):
            board[i] = origin[i]
        read(leaves.states[leaf], board)
        playout(board, buffers.rng, buffers.trace)
        outcome = board[1]
        points = 1 if outcome == leaves.player[leaf] else -1
        leaves.values[leaf] = np.float32(points if outcome > 0 else 0)
