"""Search guided by a net: selection by PUCT, and leaves that wait for the net in batches.

It differs from `playout.players.mcts.uct_simulation` in what happens at a leaf: instead of a
playout, a net evaluates it. Compiled code collects the leaves of many simulations, Python has the
net evaluate them all at once, and compiled code expands them. While a leaf waits, each node on its
path counts as lost once more, so that the next simulations go elsewhere (virtual loss: Chaslot,
Winands & van den Herik 2008).

An array of nodes holds one tree or, as in self-play, several with the same number of rows. The root
of a tree is its first row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from playout.games import Game
from playout.games.core.kernels import compiled, inlined
from playout.games.core.random import Rng, seeded
from playout.players.mcts.selection import Selection
from playout.players.mcts.tree import (
    LOST_MEAN,
    TIE,
    TREE,
    UNKNOWN,
    WIN,
    Tree,
    apart,
    clear_node,
    zeros,
)
from playout.players.mcts.uct_simulation import (
    CONFIG,
    SEARCH_KERNELS,
    SearchConfig,
    SearchKernels,
    outcome_of,
    proof_by_children,
    proof_of,
    set_proven,
)

#: Results of a simulation: it waits for the net, its outcome is known, or its leaf waits already.
WAITING, KNOWN, TAKEN = 0, 1, 2
_NO_ACTION = -1


class Leaves(NamedTuple):
    """The leaves that wait for the net; a row each."""

    states: NDArray[np.int64]  # [leaf, word] flat states
    last: NDArray[np.int64]  # [leaf] the action that led there, or -1
    tree: NDArray[np.int64]  # [leaf] number of its tree
    player: NDArray[np.int64]  # [leaf] the player to move
    win: NDArray[np.int64]  # [leaf] an action that wins at once, for a root; or -1
    depth: NDArray[np.int64]  # [leaf] plies below the root
    path: NDArray[np.int64]  # [leaf, depth] nodes from the root
    movers: NDArray[np.int64]  # [leaf, depth] players who moved into them
    moves: NDArray[np.int64]  # [leaf] number of legal actions
    legal: NDArray[np.int64]  # [leaf, action] legal actions
    logits: NDArray[np.float32]  # [leaf, action] of the net's policy
    values: NDArray[np.float32]  # [leaf] from -1 to 1 for the player to move


class NetBuffers(NamedTuple):
    """Working memory of a search guided by a net, allocated once."""

    board: NDArray[np.int64]
    probe: NDArray[np.int64]  # a copy of the board
    trace: NDArray[np.int64]  # [plies] actions of a playout
    path: NDArray[np.int64]  # [depth] nodes from the root
    movers: NDArray[np.int64]  # [depth] players who moved into them
    actions: NDArray[np.int64]  # [legal actions]
    depth: NDArray[np.int64]  # [1] greatest depth reached
    rng: Rng
    leaves: Leaves


_VECTOR, _TABLE = types.int64[::1], types.int64[:, ::1]
_LEAVES = types.NamedTuple(
    [
        *(_TABLE, *[_VECTOR] * 5, _TABLE, _TABLE, _VECTOR, _TABLE),
        *(types.float32[:, ::1], types.float32[::1]),
    ],
    Leaves,
)
NET_BUFFERS = types.NamedTuple([*[_VECTOR] * 7, types.uint64[::1], _LEAVES], NetBuffers)
#: The type of a function of the number of leaves that returns 0 on failure.
EVALUATE = types.FunctionType(types.int64(types.int64))


def new_net_buffers(game: Game, board: Any, batch: int, seed: int) -> NetBuffers:
    """Return buffers for `game` and `batch` leaves; `board` is any of its boards."""
    plies, words = max(game.max_plies, game.num_actions) + 2, len(game.initial_state())
    leaves = Leaves(
        states=np.zeros((batch, words), dtype=np.int64),
        last=np.full(batch, _NO_ACTION, dtype=np.int64),
        tree=np.zeros(batch, dtype=np.int64),
        player=np.ones(batch, dtype=np.int64),
        win=np.full(batch, _NO_ACTION, dtype=np.int64),
        depth=np.zeros(batch, dtype=np.int64),
        path=np.zeros((batch, game.max_plies + 2), dtype=np.int64),
        movers=np.zeros((batch, game.max_plies + 2), dtype=np.int64),
        moves=np.zeros(batch, dtype=np.int64),
        legal=np.zeros((batch, game.num_actions), dtype=np.int64),
        logits=np.zeros((batch, game.num_actions), dtype=np.float32),
        values=np.zeros(batch, dtype=np.float32),
    )
    return NetBuffers(
        board=apart(board) if isinstance(board, np.ndarray) else board[:],
        probe=apart(board) if isinstance(board, np.ndarray) else board[:],
        trace=zeros(plies),
        path=zeros(plies),
        movers=zeros(plies),
        actions=zeros(game.num_actions + 1),
        depth=zeros(1),
        rng=apart(seeded(seed)),
        leaves=leaves,
    )


@inlined
def root_of(tree: Tree, number: int) -> int:
    """Return the root of the tree `number`: all trees have the same number of rows."""
    return number * (len(tree.nodes) // len(tree.used))


@inlined
def by_puct(tree: Tree, node: int, again: bool, selection: Selection) -> int:
    """Return the row of the child to visit next, by PUCT (Silver et al. 2017, AlphaZero).

    The score of a child is its value from -1 to 1 plus c * prior * sqrt(N) / (1 + n), for n visits
    of the child and N of its parent. `again` says that the player to move also moved into the node.
    Proven children are not visited again.
    """
    parent = tree.nodes[node]
    first = np.int64(parent.first_child)
    visits = parent.visits + tree.guide[node].pending
    scale = np.float32(selection.c) * np.float32(math.sqrt(np.float32(max(visits, 1))))
    urgency = np.float32(selection.fpu)
    if selection.relative:
        mean = parent.average if again else np.float32(1.0) - parent.average
        urgency = np.float32(2.0) * mean - np.float32(1.0) - np.float32(selection.fpu)
    best, best_score = int(first), np.float32(-np.inf)
    for child in range(first, first + parent.width):
        each, guide = tree.nodes[child], tree.guide[child]
        n = np.float32(each.visits + guide.pending)
        if each.proof != UNKNOWN:
            score = LOST_MEAN
        elif n == np.float32(0.0):
            score = urgency + scale * guide.prior
        else:
            mean = each.average * np.float32(each.visits) / n  # waiting simulations count as lost
            score = np.float32(2.0) * mean - np.float32(1.0)
            score += scale * guide.prior / (np.float32(1.0) + n)
        if score > best_score:
            best, best_score = child, score
    return best


@inlined
def add_points(tree: Tree, buffers: NetBuffers, depth: int, player: int, points: Any) -> None:
    """Add a result, `points` from 0 to 1 for `player`, to each node on the path.

    Proofs of children are backpropagated as in `playout.players.mcts.uct_simulation`. Where a tie
    is certain, a worse result counts as a tie (score bounds: Cazenave & Saffidine 2010).
    """
    path, movers = buffers.path, buffers.movers
    proven, half = False, np.float32(0.5)
    for i in range(depth, -1, -1):
        node = path[i]
        each = tree.nodes[node]
        if proven:
            set_proven(tree, node, proof_by_children(tree, node, movers[i] == movers[i + 1]))
            if tree.nodes[path[i + 1]].proof == TIE:
                tree.guide[node].tie = 1
        if tree.guide[node].tie == 1 and i < depth:
            worse = points < half if player == movers[i + 1] else points > half
            points = half if worse else points
        proven = each.proof != UNKNOWN  # perhaps since the simulation passed here
        if proven:
            player = movers[i]
            points = half
            if each.proof != TIE:
                points = np.float32(1.0) if each.proof == WIN else np.float32(0.0)
        mine = points if movers[i] == player else np.float32(1.0) - points
        each.visits += 1
        if proven:
            each.value += np.int32(np.float32(2.0) * mine + np.float32(0.5))
        else:
            each.average += (mine - each.average) / np.float32(each.visits)
            each.value = np.int32(
                np.float32(2.0) * each.average * np.float32(each.visits) + np.float32(0.5)
            )


@inlined
def winning_action(buffers: NetBuffers, kernels: SearchKernels, config: SearchConfig) -> int:
    """Play a decisive playout on a copy of the board; return an action that wins at once.

    Returns -2 if the opponent wins in two plies, and -1 if nothing is proven.
    """
    found = _NO_ACTION
    if config.decisive:
        board, probe = buffers.board, buffers.probe
        for i in range(len(board)):
            probe[i] = board[i]
        plies = kernels.playout(probe, buffers.rng, buffers.trace)
        if plies == 1 and probe[1] == board[0]:
            found = int(buffers.trace[0])
        elif plies == 2 and probe[1] == 3 - board[0]:
            found = -2
    return found


@inlined
def simulate(
    tree: Tree,
    number: int,
    root: Any,
    last: int,
    kernels: SearchKernels,
    buffers: NetBuffers,
    leaf: int,
    config: SearchConfig,
) -> int:
    """Run a simulation in the tree `number` from the board `root`; return WAITING, KNOWN or TAKEN.

    If it waits for the net, it is the row `leaf` of the leaves. `last` is the action that led to
    the root.
    """
    board, path, movers, leaves = buffers.board, buffers.path, buffers.movers, buffers.leaves
    for i in range(len(root)):
        board[i] = root[i]
    node, depth = root_of(tree, number), 0
    path[0] = node
    movers[0] = 3 - board[0]
    action: Any = last
    while board[1] == 0 and tree.nodes[node].proof == UNKNOWN and tree.nodes[node].children > 0:
        node = by_puct(tree, node, movers[depth] == board[0], config.selection)
        depth += 1
        path[depth] = node
        movers[depth] = board[0]
        action = np.int64(tree.nodes[node].action)
        kernels.play(board, action)
    buffers.depth[0] = max(buffers.depth[0], depth)

    outcome, win = board[1], _NO_ACTION
    if tree.nodes[node].proof != UNKNOWN:
        outcome = outcome_of(tree.nodes[node].proof, movers[depth])
    elif outcome == 0:
        if tree.guide[node].pending > 0:
            return TAKEN
        win = winning_action(buffers, kernels, config)
        if depth > 0 and win != _NO_ACTION:  # a root needs children
            outcome = board[0] if win >= 0 else 3 - board[0]
    if outcome != 0:
        if config.solver and tree.nodes[node].proof == UNKNOWN:
            set_proven(tree, node, proof_of(outcome, movers[depth]))
        points = np.float32(0.5) if outcome < 0 else np.float32(1.0)
        add_points(tree, buffers, depth, abs(outcome), points)
        return KNOWN

    leaves.tree[leaf] = number
    leaves.last[leaf] = action
    leaves.player[leaf] = board[0]
    leaves.win[leaf] = win
    leaves.depth[leaf] = depth
    kernels.write(board, leaves.states[leaf])
    count = kernels.legal(board, buffers.actions)
    leaves.moves[leaf] = count
    for i in range(count):
        leaves.legal[leaf, i] = buffers.actions[i]
    for i in range(depth + 1):
        leaves.path[leaf, i] = path[i]
        leaves.movers[leaf, i] = movers[i]
        tree.guide[path[i]].pending += 1
    return WAITING


@inlined
def expand_by_net(tree: Tree, leaves: Leaves, leaf: int) -> None:
    """Add the children of a leaf, with the policy's probabilities, unless its tree is full."""
    nodes, number, n, logits = tree.nodes, leaves.tree[leaf], leaves.moves[leaf], leaves.logits
    node = leaves.path[leaf, leaves.depth[leaf]]
    first = tree.used[number]
    if first + n > root_of(tree, number + 1):
        return
    highest = np.float32(-np.inf)
    for i in range(n):
        highest = max(highest, logits[leaf, leaves.legal[leaf, i]])
    total = np.float32(0.0)
    for i in range(n):
        child, action = first + i, leaves.legal[leaf, i]
        clear_node(tree, child)
        nodes[child].action = action
        weight = np.float32(math.exp(logits[leaf, action] - highest))
        total += weight
        tree.guide[child].prior = weight
        tree.guide[child].pending = 0
        tree.guide[child].tie = 0
    for i in range(n):
        tree.guide[first + i].prior /= total
    nodes[node].first_child = first
    nodes[node].children = n
    nodes[node].width = n
    nodes[node].tried = n
    tree.used[number] = first + n


@inlined
def prove_win(tree: Tree, node: int, action: int) -> None:
    """Set the child of `action` to a proven win, which proves the node."""
    first = np.int64(tree.nodes[node].first_child)
    for child in range(first, first + tree.nodes[node].width):
        if tree.nodes[child].action == action:
            set_proven(tree, child, WIN)
            set_proven(tree, node, -WIN)


@inlined
def discard(tree: Tree, leaves: Leaves, n: int) -> None:
    """Forget the first `n` leaves, which were not evaluated."""
    for leaf in range(n):
        for i in range(leaves.depth[leaf] + 1):
            tree.guide[leaves.path[leaf, i]].pending -= 1


@inlined
def absorb(tree: Tree, buffers: NetBuffers, n: int, config: SearchConfig) -> None:
    """Expand the first `n` leaves by the net's policy, and backpropagate its values."""
    leaves = buffers.leaves
    for leaf in range(n):
        depth = leaves.depth[leaf]
        for i in range(depth + 1):
            buffers.path[i] = leaves.path[leaf, i]
            buffers.movers[i] = leaves.movers[leaf, i]
            tree.guide[buffers.path[i]].pending -= 1
        expand_by_net(tree, leaves, leaf)
        points = np.float32(0.5) + np.float32(0.5) * leaves.values[leaf]
        if leaves.win[leaf] >= 0:
            points = np.float32(1.0)
            if config.solver:
                prove_win(tree, buffers.path[0], leaves.win[leaf])
        add_points(tree, buffers, depth, leaves.player[leaf], points)


@compiled(
    types.int64(
        TREE, _VECTOR, types.int64, SEARCH_KERNELS, EVALUATE, NET_BUFFERS, CONFIG, types.int64
    ),
    allocates=False,
)
def run_simulations_with_net(
    tree: Tree,
    root: Any,
    last: int,
    kernels: SearchKernels,
    evaluate: Callable[[int], int],
    buffers: NetBuffers,
    config: SearchConfig,
    simulations: int,
) -> int:
    """Run simulations from the board `root`, to which the action `last` led; return their number.

    `evaluate(n)` has the net evaluate the first `n` leaves, and sets their logits and values. The
    number is lower than requested if the root is proven, or if `evaluate` returns 0.
    """
    leaves, done = buffers.leaves, 0
    while done < simulations and tree.nodes[0].proof == UNKNOWN:
        n, before = 0, done
        while n < len(leaves.values) and done < simulations and tree.nodes[0].proof == UNKNOWN:
            result = simulate(tree, 0, root, last, kernels, buffers, n, config)
            if result == TAKEN:
                break
            done += 1
            n += result == WAITING
        if n > 0:
            if evaluate(n) == 0:
                discard(tree, leaves, n)
                return before
            absorb(tree, buffers, n, config)
    return done
