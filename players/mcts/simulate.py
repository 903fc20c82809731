"""The loop that grows the tree: select, expand, play out, back up.

It is compiled once for all games: the rules come in as function pointers. The same source runs
uncompiled over a game in plain Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from games import Game
from games.core.kernels import SIGNATURES, compiled, inlined
from games.core.random import Rng, draw
from players.mcts.proofs import look_up, new_proofs, remember
from players.mcts.selection import RAVE, SELECTION, Selection, select
from players.mcts.tree import HOPELESS, LOSS, ROOT, TIE, TREE, UNKNOWN, WIN, Tree, apart

#: Rows that a node's children are given at first. Most nodes are visited so seldom that they need
#: no more; each time they do, their room doubles. The root has room for all.
FIRST_ROWS = 8


class SearchConfig(NamedTuple):
    """How to search."""

    solver: bool  # back up proofs
    sharp: bool  # playouts are decisive: who can win at once does, who can prevent it does
    max_plies: int  # above 0, playouts are cut off there and count as ties
    max_depth: int  # of the tree


class Buffers(NamedTuple):
    """Room to work in, made once."""

    actions: NDArray[np.int64]  # [legal actions]
    path: NDArray[np.int64]  # [depth] nodes from the root
    movers: NDArray[np.int64]  # [depth] who moved into them
    trace: NDArray[np.int64]  # [plies] of a playout
    played: NDArray[np.int64]  # [player, action] the last mark on it, flat
    around: NDArray[np.int64]  # [action, neighbour] cells next to it, flat, -1 for none; or empty
    proofs: NDArray[np.int64]  # see `players.mcts.proofs`
    tally: NDArray[np.int64]  # marks made in `played`; greatest depth; actions there are


_VECTOR = types.int64[::1]
_SCRATCH = types.NamedUniTuple(_VECTOR, 8, Buffers)
_PLAN = types.NamedTuple([types.boolean, types.boolean, types.int64, types.int64], SearchConfig)
_LEGAL, _PLAY, _PLAYOUT = (
    types.FunctionType(SIGNATURES[name]) for name in ("legal", "play", "playout")
)
_KEY = types.FunctionType(types.int64(_VECTOR))
_RNG = types.uint64[::1]


def new_buffers(game: Game, around: NDArray[np.int64], words: int) -> Buffers:
    """Room enough for every match of `game`, whose boards have so many words."""
    plies = max(game.max_plies, game.num_actions) + 2
    return Buffers(
        actions=_zeros(game.num_actions + 1),
        path=_zeros(plies),
        movers=_zeros(plies),
        trace=_zeros(plies),
        played=_zeros(2 * game.num_actions),
        around=around,
        proofs=new_proofs(words),
        tally=apart(np.array([0, 0, game.num_actions], dtype=np.int64)),
    )


def _zeros(n: int) -> NDArray[np.int64]:
    return apart(np.zeros(n, dtype=np.int64))


@inlined
def wants_rows(tree: Tree, node: int) -> bool:
    """Must room be made before one more child can be visited?"""
    each = tree.nodes[node]
    return each.tried == each.width and (each.width < each.children or each.children == 0)


@inlined
def proof_of(outcome: int, player: int) -> int:
    """What the end of a game is to a player."""
    if outcome < 0:
        return TIE
    return WIN if outcome == player else LOSS


@inlined
def outcome_of(proof: int, player: int) -> int:
    """The outcome that is certain when a player has this proof."""
    if proof == TIE:
        return -1
    return player if proof == WIN else 3 - player


@inlined
def near_first(scratch: Buffers, n: int) -> int:
    """Move the legal actions next to a stone to the front; how many there are, or n for none.

    Where stones stay where they are put, a cell whose action is not legal holds one.
    """
    actions, played = scratch.actions, scratch.played
    reach = len(scratch.around) // scratch.tally[2]
    scratch.tally[0] += 1  # a mark of its own
    for i in range(n):
        played[actions[i]] = scratch.tally[0]
    near = 0
    for i in range(n):
        action = actions[i]
        for j in range(action * reach, action * reach + reach):
            other = scratch.around[j]
            if other >= 0 and played[other] != scratch.tally[0]:
                actions[i] = actions[near]
                actions[near] = action
                near += 1
                break
    return near if near > 0 else n


@compiled(types.void(TREE, types.int64, _SCRATCH, types.int64, SELECTION, _RNG), allocates=False)
def expand(tree: Tree, node: int, scratch: Buffers, n: int, how: Selection, rng: Rng) -> None:
    """Give a node room for children, or for more than it has, unless the tree is full.

    `n` legal actions are in the scratch. The children stand in random order, those near a stone
    first, where the game says what is near.
    """
    nodes, actions = tree.nodes, scratch.actions
    old, have = int(nodes[node].first_child), int(nodes[node].width)
    whole = node == ROOT or how.rule == RAVE
    width = np.int64(n if whole else min(n, max(FIRST_ROWS, 2 * have)))
    first = tree.used[0]
    if first + width > len(nodes):
        return
    near = n
    if len(scratch.around) > 0:
        near = near_first(scratch, n)
    for i in range(have):  # what was tried keeps its place
        nodes[first + i] = nodes[old + i]
        for j in range(i, n):
            if actions[j] == nodes[old + i].action:
                actions[j] = actions[i]
                actions[i] = nodes[old + i].action
                break
    for i in range(have, width):
        pick = i + draw(rng, (near if i < near else n) - i)
        action = actions[pick]
        actions[pick] = actions[i]
        child = first + i
        nodes[child].action = action
        nodes[child].visits = 0
        nodes[child].value = 0
        nodes[child].children = 0
        nodes[child].width = 0
        nodes[child].tried = 0
        nodes[child].proof = UNKNOWN
        if how.rule == RAVE:
            tree.amaf[child].visits = 0
    nodes[node].first_child = first
    nodes[node].children = n
    nodes[node].width = width
    nodes[node].near = near
    tree.used[0] = first + width


@inlined
def visit(tree: Tree, node: int, child: int) -> int:
    """Make sure that the child about to be visited stands among those tried; its row."""
    nodes = tree.nodes
    place = np.int64(nodes[node].first_child) + nodes[node].tried
    if child < place:
        return child
    if child > place:  # both are untried: they differ in action and all-moves-as-first
        nodes[child].action, nodes[place].action = nodes[place].action, nodes[child].action
        here, there = tree.amaf[place], tree.amaf[child]
        visits, mean = here.visits, here.average
        here.visits, here.average = there.visits, there.average
        there.visits, there.average = visits, mean
    nodes[node].tried += 1
    return place


@inlined
def set_proven(tree: Tree, node: int, proof: int) -> None:
    """Record what is known of a node."""
    if proof != UNKNOWN:
        each = tree.nodes[node]
        each.proof = proof
        each.doubt = np.float32(0.0)
        if proof == TIE:
            each.average = np.float32(0.5)
        else:
            each.average = np.float32(1.0) if proof == WIN else HOPELESS


@inlined
def proof_by_children(tree: Tree, node: int, again: bool) -> int:
    """What the children prove: one that is won for who moves is enough, otherwise all must be.

    `again`: who moves is who moved into the node.
    """
    each = tree.nodes[node]
    first = np.int64(each.first_child)
    best = UNKNOWN if each.tried < each.children else LOSS
    for child in range(first, first + each.tried):
        proof = tree.nodes[child].proof
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
    """Count a result in every node of `path[0..depth]`; `movers[i]` is who moved into `path[i]`.

    On the way, what the proof of a child proves is recorded (Winands, Björnsson & Saito 2008). The
    depth from which on all nodes of the path are proven.
    """
    first_proven = depth + 1
    proven = tree.nodes[path[depth]].proof != UNKNOWN
    for i in range(depth, -1, -1):
        node = path[i]
        each = tree.nodes[node]
        if proven and i < depth:
            set_proven(tree, node, proof_by_children(tree, node, movers[i] == movers[i + 1]))
            proven = each.proof != UNKNOWN
            if proven:
                outcome = outcome_of(each.proof, movers[i])
        if proven:
            first_proven = i
        each.visits += 1
        if movers[i] == outcome:
            each.value += 2
        elif outcome < 1:
            each.value += 1
        if not proven:
            share = np.float32(1.0) / np.float32(each.visits)
            each.average = np.float32(0.5) * np.float32(each.value) * share
            each.doubt = math.sqrt(share)
    return first_proven


@compiled(types.void(TREE, _SCRATCH, types.int64, types.int64, types.int64), allocates=False)
def all_moves_as_first(tree: Tree, scratch: Buffers, depth: int, plies: int, outcome: int) -> None:
    """Count a result for every child whose action its player chose later in the simulation.

    The tree is gone through from the leaf up, so that a mark means `here or later`. In the playout
    the players are taken to move in turn.
    """
    played, actions, movers = scratch.played, scratch.tally[2], scratch.movers
    scratch.tally[0] += 1  # a mark that nothing else has made
    stamp = scratch.tally[0]
    player = 2 - movers[depth]  # from 0, who moves at the leaf
    for ply in range(plies):
        played[player * actions + scratch.trace[ply]] = stamp
        player = 1 - player
    for i in range(depth - 1, -1, -1):
        mover = movers[i + 1]
        mine = (mover - 1) * actions
        played[mine + tree.nodes[scratch.path[i + 1]].action] = stamp
        result = np.float32(0.5) if outcome < 1 else np.float32(outcome == mover)
        node = tree.nodes[scratch.path[i]]
        first, last = node.first_child, node.first_child + node.width
        for child in range(first, last):
            if played[mine + tree.nodes[child].action] == stamp:
                amaf = tree.amaf[child]
                amaf.visits += 1
                amaf.average += (result - amaf.average) / np.float32(amaf.visits)


@compiled(
    types.int64(
        TREE,
        _VECTOR,
        _VECTOR,
        _LEGAL,
        _PLAY,
        _PLAYOUT,
        _KEY,
        _RNG,
        _SCRATCH,
        SELECTION,
        _PLAN,
        types.int64,
    ),
    allocates=False,
)
def run_simulations(
    tree: Tree,
    root: Any,
    board: Any,
    legal: Callable[..., int],
    play: Callable[..., None],
    playout: Callable[..., int],
    key: Callable[..., int],
    rng: Rng,
    scratch: Buffers,
    how: Selection,
    plan: SearchConfig,
    simulations: int,
) -> int:
    """Run simulations from the board `root`, on the board `board`; how many were run.

    They are fewer than asked for when the root is proven.
    """
    path, movers = scratch.path, scratch.movers
    path[0] = ROOT
    movers[0] = 3 - root[0]
    for simulation in range(simulations):
        if tree.nodes[ROOT].proof != UNKNOWN:
            return simulation
        for i in range(len(root)):
            board[i] = root[i]
        node, depth = ROOT, 0

        # Select, and expand what is visited for the second time.
        while board[1] == 0 and tree.nodes[node].proof == UNKNOWN:
            if wants_rows(tree, node):
                if tree.nodes[node].visits == 0 or depth == plan.max_depth:
                    break
                expand(tree, node, scratch, legal(board, scratch.actions), how, rng)
                if tree.nodes[node].width == 0:
                    break
            node = visit(tree, node, select(tree, node, how))
            depth += 1
            path[depth] = node
            movers[depth] = board[0]
            play(board, tree.nodes[node].action)

        # Play out, unless the result is known.
        plies, proof = 0, UNKNOWN
        if tree.nodes[node].proof != UNKNOWN:
            outcome = outcome_of(tree.nodes[node].proof, movers[depth])
        else:
            to_move, outcome = board[0], board[1]
            if outcome == 0 and plan.solver and len(scratch.proofs) > 0:
                outcome = look_up(scratch.proofs, key(board))
            if outcome != 0:
                proof = proof_of(outcome, movers[depth])
            elif plan.max_plies > 0:
                while plies < plan.max_plies and board[1] == 0:
                    pick = draw(rng, legal(board, scratch.actions))
                    scratch.trace[plies] = scratch.actions[pick]
                    play(board, scratch.actions[pick])
                    plies += 1
                outcome = board[1]
            else:
                plies = playout(board, rng, scratch.trace)
                outcome = board[1]
                # A win at once is a proof; so is the other's, where it would have been prevented.
                if (plies == 1 and outcome == to_move) or (
                    plan.sharp and plies == 2 and outcome == 3 - to_move
                ):
                    proof = proof_of(outcome, movers[depth])
            if plan.solver:
                set_proven(tree, node, proof)

        first_proven = backpropagate(tree, path, movers, depth, outcome)
        if plan.solver and proof != UNKNOWN and len(scratch.proofs) > 0:
            for i in range(len(root)):
                board[i] = root[i]
            for i in range(depth + 1):
                if i > 0:
                    play(board, tree.nodes[path[i]].action)
                if i >= first_proven and board[1] == 0:
                    found = outcome_of(tree.nodes[path[i]].proof, movers[i])
                    remember(scratch.proofs, key(board), found)
        if how.rule == RAVE:
            all_moves_as_first(tree, scratch, depth, plies, outcome)
        if depth > scratch.tally[1]:
            scratch.tally[1] = depth
    return simulations
