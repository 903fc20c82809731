"""The policy of a search with playouts: the children of a node, and the value of a leaf."""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from playout.games.core.kernels import compiled, inlined
from playout.games.core.random import draw
from playout.players.evaluations.placements import expect_placements
from playout.players.mcts.selection import RAVE, select
from playout.players.mcts.simulation import (
    ACTIONS,
    KNOWN,
    MEMORY,
    STAMPS,
    SearchContext,
    SearchMemory,
    back_up,
    outcome_of,
    proof_of,
    set_proven,
)
from playout.players.mcts.tree import (
    ROOT,
    TREE,
    UNKNOWN,
    Tree,
    at,
    clear_node,
    look_up,
    remember,
)

#: Rows allocated for children at the first expansion of a node; each later expansion doubles them.
#: Most nodes have too few visits to need more. The root has rows for all children.
FIRST_ROWS = 8
#: Visits of a node at which an evaluation values its children.
_VALUED = 4


@inlined
def expand(tree: Tree, search: SearchContext, node: int, depth: int) -> bool:
    """Return whether a child can be visited; a node is expanded at its second visit."""
    kernels, memory, config = search.kernels, search.memory, search.config
    board = search.positions.board
    if wants_rows(tree, node):
        if at(tree, node).visits == 0 or depth == config.max_depth:
            return False
        n = kernels.legal(board, memory.actions)
        add_rows(tree, node, memory, n, config.selection.rule)
        if at(tree, node).width == 0:
            return False
        if config.selection.prior > 0.0:
            kernels.prior(board, memory.assumed)
            assume(tree, node, memory.assumed, config.selection.prior)
    if config.expected > 0 and at(tree, node).visits == _VALUED:
        expect_placements(search.placements, board, kernels.observe)
        expect(tree, node, search.placements.shares, config.expected)
    return True


@inlined
def wants_rows(tree: Tree, node: int) -> bool:
    """Return whether a node needs more rows before another child can be visited."""
    each = at(tree, node)
    return each.tried == each.width and (each.width < each.children or each.children == 0)


@inlined
def near_first(memory: SearchMemory, n: int) -> int:
    """Move the legal actions next to a stone to the front; return their number, or n for none.

    Stones never move in these games, so a cell whose action is illegal holds a stone.
    """
    actions, played = memory.actions, memory.played
    reach = len(memory.neighbours) // memory.counters[ACTIONS]
    memory.counters[STAMPS] += 1  # a new stamp
    for i in range(n):
        played[actions[i]] = memory.counters[STAMPS]
    near = 0
    for i in range(n):
        action = actions[i]
        for j in range(action * reach, action * reach + reach):
            other = memory.neighbours[j]
            if other >= 0 and played[other] != memory.counters[STAMPS]:
                actions[i] = actions[near]
                actions[near] = action
                near += 1
                break
    return near if near > 0 else n


@compiled(types.void(TREE, types.int64, MEMORY, types.int64, types.int64), allocates=False)
def add_rows(tree: Tree, node: int, memory: SearchMemory, n: int, rule: int) -> None:
    """Allocate rows for children of a node, or more rows than it has, unless the tree is full.

    The memory holds `n` legal actions. Children are in random order, those near a stone first if
    the memory holds neighbours.
    """
    nodes, actions = tree.nodes, memory.actions
    old, have = int(nodes[node].first_child), int(nodes[node].width)
    whole = node == ROOT or rule == RAVE
    width = np.int64(n if whole else min(n, max(FIRST_ROWS, 2 * have)))
    first = tree.used[0]
    if first + width > len(nodes):
        return
    near = n
    if len(memory.neighbours) > 0:
        near = near_first(memory, n)
    for i in range(have):  # visited children keep their order
        nodes[first + i] = nodes[old + i]
        for j in range(i, n):
            if actions[j] == nodes[old + i].action:
                actions[j] = actions[i]
                actions[i] = nodes[old + i].action
                break
    for i in range(have, width):
        pick = i + draw(memory.rng, (near if i < near else n) - i)
        action = actions[pick]
        actions[pick] = actions[i]
        child = first + i
        clear_node(tree, child)
        nodes[child].action = action
        if rule == RAVE:
            tree.amaf[child].visits = 0
    nodes[node].first_child = first
    nodes[node].children = n
    nodes[node].width = width
    if rule == RAVE:
        tree.amaf[node].near = near
    tree.used[0] = first + width


@inlined
def assume(tree: Tree, node: int, assumed: NDArray[np.int64], weight: float) -> None:
    """Set the all-moves-as-first results of new children to those that the game assumes."""
    first = np.int64(tree.nodes[node].first_child)
    for child in range(first, first + tree.nodes[node].width):
        at = 2 * np.int64(tree.nodes[child].action)
        visits = np.int64(weight * assumed[at + 1])
        if visits > 0:
            tree.amaf[child].visits = visits
            tree.amaf[child].average = np.float32(0.5 * assumed[at] / assumed[at + 1])


@inlined
def expect(tree: Tree, node: int, shares: NDArray[np.float32], visits: int) -> None:
    """Add the evaluation's expectations to the all-moves-as-first results of children."""
    first = np.int64(tree.nodes[node].first_child)
    for child in range(first, first + tree.nodes[node].width):
        amaf = tree.amaf[child]
        amaf.visits += visits
        weight = np.float32(visits) / np.float32(amaf.visits)
        amaf.average += weight * (shares[tree.nodes[child].action] - amaf.average)


@inlined
def select_child(tree: Tree, search: SearchContext, node: int, again: bool) -> int:
    """Return the row of the child to visit next, which is then among those of visited children."""
    nodes, child = tree.nodes, select(tree, node, search.config.selection)
    parent = at(tree, node)
    place = np.int64(parent.first_child) + parent.tried
    if child < place:
        return child
    if child > place:  # both are untried: only action and all-moves-as-first differ
        nodes[child].action, nodes[place].action = nodes[place].action, nodes[child].action
        here, there = tree.amaf[place], tree.amaf[child]
        visits, mean = here.visits, here.average
        here.visits, here.average = there.visits, there.average
        there.visits, there.average = visits, mean
    parent.tried += 1
    return place


@inlined
def evaluate_leaf(tree: Tree, search: SearchContext, number: int, leaf: int, depth: int) -> int:
    """Play out the position at the end of the path, unless its result is known; back it up."""
    kernels, positions = search.kernels, search.positions
    memory, config, board = search.memory, search.config, search.positions.board
    path, movers, node = memory.path, memory.movers, memory.path[depth]
    plies, proof, uses_table = 0, UNKNOWN, config.solver and len(memory.proofs) > 0
    if at(tree, node).proof != UNKNOWN:
        outcome = outcome_of(at(tree, node).proof, movers[depth])
    else:
        to_move, outcome = board[0], board[1]
        if outcome == 0 and uses_table:
            outcome = look_up(memory.proofs, kernels.key(board))
        if outcome != 0:
            proof = proof_of(outcome, movers[depth])
        elif config.max_plies > 0:
            while plies < config.max_plies and board[1] == 0:
                pick = draw(memory.rng, kernels.legal(board, memory.actions))
                memory.trace[plies] = memory.actions[pick]
                kernels.play(board, memory.actions[pick])
                plies += 1
            outcome = board[1]
        else:
            plies = kernels.playout(board, memory.rng, memory.trace)
            outcome = board[1]
            # An immediate win is a proof; so is the opponent's, which decisive playouts would
            # have prevented if possible.
            if (plies == 1 and outcome == to_move) or (
                config.decisive and plies == 2 and outcome == 3 - to_move
            ):
                proof = proof_of(outcome, movers[depth])
        if config.solver:
            set_proven(tree, node, proof)

    points = np.float32(0.5) if outcome < 1 else np.float32(1.0)
    first_proven = back_up(tree, memory, depth, abs(outcome), points)
    if proof != UNKNOWN and uses_table:
        for i in range(len(board)):
            board[i] = positions.roots[number][i]
        for i in range(depth + 1):
            if i > 0:
                kernels.play(board, at(tree, path[i]).action)
            if i >= first_proven and board[1] == 0:
                found = outcome_of(at(tree, path[i]).proof, movers[i])
                remember(memory.proofs, kernels.key(board), found)
    if config.selection.rule == RAVE:
        all_moves_as_first(tree, memory, depth, plies, outcome)
    return KNOWN


@inlined
def all_moves_as_first(
    tree: Tree, memory: SearchMemory, depth: int, plies: int, outcome: int
) -> None:
    """Add a result to every child whose action its player chose later in the simulation.

    The path is walked from the leaf to the root, so that a stamp means here or later. In the
    playout, the players are assumed to move in turn.
    """
    played, actions, movers = memory.played, memory.counters[ACTIONS], memory.movers
    memory.counters[STAMPS] += 1  # a new stamp
    stamp = memory.counters[STAMPS]
    player = 2 - movers[depth]  # the player to move at the leaf, counted from 0
    for ply in range(plies):
        played[player * actions + memory.trace[ply]] = stamp
        player = 1 - player
    for i in range(depth - 1, -1, -1):
        mover = movers[i + 1]
        mine = (mover - 1) * actions
        played[mine + tree.nodes[memory.path[i + 1]].action] = stamp
        result = np.float32(0.5) if outcome < 1 else np.float32(outcome == mover)
        node = tree.nodes[memory.path[i]]
        first, last = node.first_child, node.first_child + node.width
        for child in range(first, last):
            if played[mine + tree.nodes[child].action] == stamp:
                amaf = tree.amaf[child]
                amaf.visits += 1
                amaf.average += (result - amaf.average) / np.float32(amaf.visits)
