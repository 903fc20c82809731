"""The simulation loop of UCT: select, expand, play out, backpropagate.

It is compiled once for all games: the rules are passed as function pointers. The same source runs
uncompiled over a game in plain Python.
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
from playout.games.core.random import Rng, draw, seeded
from playout.players.core.rules import Rules, type_of
from playout.players.evaluations.placements import PLACEMENTS, Placements, expect_placements
from playout.players.mcts.selection import RAVE, SELECTION, Selection, place_in_table, select
from playout.players.mcts.tree import (
    LOSS,
    LOST_MEAN,
    ROOT,
    TIE,
    TREE,
    UNKNOWN,
    WIN,
    Tree,
    apart,
    at,
    clear_node,
    look_up,
    new_proofs,
    remember,
    zeros,
)

#: Rows allocated for children at the first expansion of a node; each later expansion doubles them.
#: Most nodes have too few visits to need more. The root has rows for all children.
FIRST_ROWS = 8
#: Visits of a node at which an evaluation values its children.
_VALUED = 4


class SearchKernels(NamedTuple):
    """The functions of a game that a tree search calls."""

    legal: Callable[..., int]
    play: Callable[..., None]
    playout: Callable[..., int]
    prior: Callable[..., None]
    write: Callable[..., None]
    key: Callable[..., int]
    observe: Callable[..., None]


SEARCH_KERNELS = type_of(SearchKernels)


def search_kernels(rules: Rules, playout: Callable[..., int] | None) -> SearchKernels:
    """Return the kernels of a game for a search; `playout` replaces its random one if given."""
    return SearchKernels(
        rules.legal,
        rules.play,
        playout or rules.playout,
        rules.prior or rules.write,  # the same type; without a prior, it is not called
        rules.write,
        rules.key,
        rules.observe,
    )


class SearchConfig(NamedTuple):
    """The settings of a search."""

    selection: Selection
    solver: bool = True  # backpropagate proofs
    decisive: bool = True  # playouts are decisive: they win at once and prevent immediate losses
    expected: int = 0  # visits that the evaluation of an action counts for, if there is one
    max_plies: int = 0  # above 0, playouts end at this length as ties
    max_depth: int = 2**31 - 1  # of the tree; by default, deeper than any game
    heavy: bool = False  # playouts use the knowledge of the game


class Buffers(NamedTuple):
    """Working memory of a search, allocated once."""

    actions: NDArray[np.int64]  # [legal actions]
    path: NDArray[np.int64]  # [depth] nodes from the root
    movers: NDArray[np.int64]  # [depth] players who moved into them
    trace: NDArray[np.int64]  # [plies] actions of a playout
    played: NDArray[np.int64]  # [player, action] the last stamp on it, flat
    neighbours: NDArray[np.int64]  # [action, neighbour] flat, padded with -1; or empty
    proofs: NDArray[np.int64]  # see `playout.players.mcts.tree`
    assumed: NDArray[np.int64]  # [action, half points and visits] flat
    counters: NDArray[np.int64]  # stamps used in `played`; greatest depth; number of actions
    rng: Rng
    placements: Placements


_VECTOR = types.int64[::1]
_BUFFERS = types.NamedTuple([*[_VECTOR] * 9, types.uint64[::1], PLACEMENTS], Buffers)
CONFIG = types.NamedTuple(
    [SELECTION, types.boolean, types.boolean, *[types.int64] * 3, types.boolean],
    SearchConfig,
)


def new_buffers(
    game: Game, neighbours: NDArray[np.int64], words: int, seed: int, placements: Placements
) -> Buffers:
    """Return buffers large enough for every match of `game`; `words` is the length of a board."""
    plies = max(game.max_plies, game.num_actions) + 2
    return Buffers(
        actions=zeros(game.num_actions + 1),
        path=zeros(plies),
        movers=zeros(plies),
        trace=zeros(plies),
        played=zeros(2 * game.num_actions),
        neighbours=neighbours,
        proofs=new_proofs(words),
        assumed=zeros(2 * game.num_actions),
        counters=apart(np.array([0, 0, game.num_actions], dtype=np.int64)),
        rng=apart(seeded(seed)),
        placements=placements,
    )


@inlined
def wants_rows(tree: Tree, node: int) -> bool:
    """Return whether a node needs more rows before another child can be visited."""
    each = at(tree, node)
    return each.tried == each.width and (each.width < each.children or each.children == 0)


@inlined
def proof_of(outcome: int, player: int) -> int:
    """Return the outcome of a game as a proof for a player."""
    if outcome < 0:
        return TIE
    return WIN if outcome == player else LOSS


@inlined
def outcome_of(proof: int, player: int) -> int:
    """Return the outcome of a game from a proof for a player."""
    if proof == TIE:
        return -1
    return player if proof == WIN else 3 - player


@inlined
def near_first(buffers: Buffers, n: int) -> int:
    """Move the legal actions next to a stone to the front; return their number, or n for none.

    Stones never move in these games, so a cell whose action is illegal holds a stone.
    """
    actions, played = buffers.actions, buffers.played
    reach = len(buffers.neighbours) // buffers.counters[2]
    buffers.counters[0] += 1  # a new stamp
    for i in range(n):
        played[actions[i]] = buffers.counters[0]
    near = 0
    for i in range(n):
        action = actions[i]
        for j in range(action * reach, action * reach + reach):
            other = buffers.neighbours[j]
            if other >= 0 and played[other] != buffers.counters[0]:
                actions[i] = actions[near]
                actions[near] = action
                near += 1
                break
    return near if near > 0 else n


@compiled(types.void(TREE, types.int64, _BUFFERS, types.int64, types.int64), allocates=False)
def expand(tree: Tree, node: int, buffers: Buffers, n: int, rule: int) -> None:
    """Allocate rows for children of a node, or more rows than it has, unless the tree is full.

    The buffers hold `n` legal actions. Children are in random order, those near a stone first if
    the buffers hold neighbours.
    """
    nodes, actions = tree.nodes, buffers.actions
    old, have = int(nodes[node].first_child), int(nodes[node].width)
    whole = node == ROOT or rule == RAVE
    width = np.int64(n if whole else min(n, max(FIRST_ROWS, 2 * have)))
    first = tree.used[0]
    if first + width > len(nodes):
        return
    near = n
    if len(buffers.neighbours) > 0:
        near = near_first(buffers, n)
    for i in range(have):  # visited children keep their order
        nodes[first + i] = nodes[old + i]
        for j in range(i, n):
            if actions[j] == nodes[old + i].action:
                actions[j] = actions[i]
                actions[i] = nodes[old + i].action
                break
    for i in range(have, width):
        pick = i + draw(buffers.rng, (near if i < near else n) - i)
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
    """Add what an evaluation expects to the all-moves-as-first results of children."""
    first = np.int64(tree.nodes[node].first_child)
    for child in range(first, first + tree.nodes[node].width):
        amaf = tree.amaf[child]
        amaf.visits += visits
        weight = np.float32(visits) / np.float32(amaf.visits)
        amaf.average += weight * (shares[tree.nodes[child].action] - amaf.average)


@inlined
def visit(tree: Tree, node: int, child: int) -> int:
    """Move the child to visit to the rows of the visited ones, and return its row."""
    nodes = tree.nodes
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
def add_visit(tree: Tree, node: int) -> None:
    """Count a visit of a node."""
    each = at(tree, node)
    each.visits += 1
    each.log_visits = place_in_table(each.visits)
    if each.proof == UNKNOWN:
        each.inverse_sqrt_visits = math.sqrt(np.float32(1.0) / np.float32(each.visits))


@inlined
def set_proven(tree: Tree, node: int, proof: int) -> None:
    """Set the proof of a node, unless it is UNKNOWN, and its mean accordingly."""
    if proof != UNKNOWN:
        each = at(tree, node)
        each.proof = proof
        each.inverse_sqrt_visits = np.float32(0.0)
        if proof == TIE:
            each.average = np.float32(0.5)
        else:
            each.average = np.float32(1.0) if proof == WIN else LOST_MEAN


@inlined
def proof_by_children(tree: Tree, node: int, again: bool) -> int:
    """Return the proof that follows from the children: a win of the mover, or proofs of all.

    `again` says that the player to move also moved into the node.
    """
    each = at(tree, node)
    first = np.int64(each.first_child)
    best = UNKNOWN if each.tried < each.children else LOSS
    for child in range(first, first + each.tried):
        proof = at(tree, child).proof
        if proof == WIN:
            return WIN if again else LOSS
        if proof == UNKNOWN:
            best = UNKNOWN
        elif proof == TIE and best == LOSS:
            best = TIE
    if best == LOSS and not again:
        return WIN
    return best


@inlined
def backpropagate(
    tree: Tree, path: NDArray[np.int64], movers: NDArray[np.int64], depth: int, outcome: int
) -> int:
    """Add a result to every node of `path[0..depth]`; `movers[i]` moved into `path[i]`.

    Proofs of children are backpropagated too (Winands, Björnsson & Saito 2008). Returns the least
    depth below which all nodes of the path are proven.
    """
    first_proven = depth + 1
    proven = tree.nodes[path[depth]].proof != UNKNOWN
    for i in range(depth, -1, -1):
        node = path[i]
        each = at(tree, node)
        if proven and i < depth:
            set_proven(tree, node, proof_by_children(tree, node, movers[i] == movers[i + 1]))
            proven = each.proof != UNKNOWN
            if proven:
                outcome = outcome_of(each.proof, movers[i])
        if proven:
            first_proven = i
        each.value += 2 * (movers[i] == outcome) + (outcome < 1)
        if not proven:
            share = np.float32(1.0) / np.float32(each.visits)
            each.average = np.float32(0.5) * np.float32(each.value) * share
    return first_proven


@compiled(types.void(TREE, _BUFFERS, types.int64, types.int64, types.int64), allocates=False)
def all_moves_as_first(tree: Tree, buffers: Buffers, depth: int, plies: int, outcome: int) -> None:
    """Add a result to every child whose action its player chose later in the simulation.

    The path is walked from the leaf to the root, so that a stamp means here or later. In the
    playout, the players are assumed to move in turn.
    """
    played, actions, movers = buffers.played, buffers.counters[2], buffers.movers
    buffers.counters[0] += 1  # a new stamp
    stamp = buffers.counters[0]
    player = 2 - movers[depth]  # the player to move at the leaf, counted from 0
    for ply in range(plies):
        played[player * actions + buffers.trace[ply]] = stamp
        player = 1 - player
    for i in range(depth - 1, -1, -1):
        mover = movers[i + 1]
        mine = (mover - 1) * actions
        played[mine + tree.nodes[buffers.path[i + 1]].action] = stamp
        result = np.float32(0.5) if outcome < 1 else np.float32(outcome == mover)
        node = tree.nodes[buffers.path[i]]
        first, last = node.first_child, node.first_child + node.width
        for child in range(first, last):
            if played[mine + tree.nodes[child].action] == stamp:
                amaf = tree.amaf[child]
                amaf.visits += 1
                amaf.average += (result - amaf.average) / np.float32(amaf.visits)


@compiled(
    types.int64(TREE, _VECTOR, _VECTOR, SEARCH_KERNELS, _BUFFERS, CONFIG, types.int64),
    allocates=False,
)
def run_simulations(
    tree: Tree,
    root: Any,
    board: Any,
    kernels: SearchKernels,
    buffers: Buffers,
    config: SearchConfig,
    simulations: int,
) -> int:
    """Run simulations from the board `root`, with `board` as working memory; return their number.

    It is lower than requested if the root is proven.
    """
    path, movers, selection = buffers.path, buffers.movers, config.selection
    path[0] = ROOT
    movers[0] = 3 - root[0]
    for simulation in range(simulations):
        if tree.nodes[ROOT].proof != UNKNOWN:
            return simulation
        for i in range(len(root)):
            board[i] = root[i]
        node, depth = ROOT, 0

        # Select, and expand a node at its second visit.
        while board[1] == 0 and at(tree, node).proof == UNKNOWN:
            if wants_rows(tree, node):
                if at(tree, node).visits == 0 or depth == config.max_depth:
                    break
                n = kernels.legal(board, buffers.actions)
                expand(tree, node, buffers, n, selection.rule)
                if at(tree, node).width == 0:
                    break
                if selection.prior > 0.0:
                    kernels.prior(board, buffers.assumed)
                    assume(tree, node, buffers.assumed, selection.prior)
            if config.expected > 0 and at(tree, node).visits == _VALUED:
                expect_placements(buffers.placements, board, kernels.observe)
                expect(tree, node, buffers.placements.shares, config.expected)
            child = visit(tree, node, select(tree, node, selection))
            add_visit(tree, node)
            node = child
            depth += 1
            path[depth] = node
            movers[depth] = board[0]
            kernels.play(board, at(tree, node).action)

        add_visit(tree, node)

        # Play out, unless the result is known.
        plies, proof = 0, UNKNOWN
        if at(tree, node).proof != UNKNOWN:
            outcome = outcome_of(at(tree, node).proof, movers[depth])
        else:
            to_move, outcome = board[0], board[1]
            if outcome == 0 and config.solver and len(buffers.proofs) > 0:
                outcome = look_up(buffers.proofs, kernels.key(board))
            if outcome != 0:
                proof = proof_of(outcome, movers[depth])
            elif config.max_plies > 0:
                while plies < config.max_plies and board[1] == 0:
                    pick = draw(buffers.rng, kernels.legal(board, buffers.actions))
                    buffers.trace[plies] = buffers.actions[pick]
                    kernels.play(board, buffers.actions[pick])
                    plies += 1
                outcome = board[1]
            else:
                plies = kernels.playout(board, buffers.rng, buffers.trace)
                outcome = board[1]
                # An immediate win is a proof; so is the opponent's, which decisive playouts would
                # have prevented if possible.
                if (plies == 1 and outcome == to_move) or (
                    config.decisive and plies == 2 and outcome == 3 - to_move
                ):
                    proof = proof_of(outcome, movers[depth])
            if config.solver:
                set_proven(tree, node, proof)

        first_proven = backpropagate(tree, path, movers, depth, outcome)
        if config.solver and proof != UNKNOWN and len(buffers.proofs) > 0:
            for i in range(len(root)):
                board[i] = root[i]
            for i in range(depth + 1):
                if i > 0:
                    kernels.play(board, at(tree, path[i]).action)
                if i >= first_proven and board[1] == 0:
                    found = outcome_of(at(tree, path[i]).proof, movers[i])
                    remember(buffers.proofs, kernels.key(board), found)
        if selection.rule == RAVE:
            all_moves_as_first(tree, buffers, depth, plies, outcome)
        if depth > buffers.counters[1]:
            buffers.counters[1] = depth
    return simulations
