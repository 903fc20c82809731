"""The policies of searches of games with chance: nature's outcomes are drawn.

A node where nature moves has a row for each outcome, and a simulation goes to one of them by its
weight. The result of an outcome counts for the same player as that of the node before it: the one
who made the last move. The node is proven only if all its outcomes have one result. Other nodes are
those of `playouts` or `guided`. Games without chance use none of this.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from playout.games import Board
from playout.games.core.kernels import given, inlined
from playout.games.core.random import draw
from playout.players.mcts import guided, playouts, simulation
from playout.players.mcts.search import search_with
from playout.players.mcts.simulation import WAITING, SearchContext
from playout.players.mcts.tree import UNKNOWN, Tree, at, clear_node

# Steps of the policies without chance, of which copies of the steps below call one.
_expand_decision: Callable[..., bool] = playouts.expand
_select_action: Callable[..., int] = playouts.select_child
_proof_of_decision = simulation.proof_by_children


@inlined
def add_outcomes(tree: Tree, search: SearchContext, node: int) -> bool:
    """Add a row for each outcome, unless the tree is full; return whether the node has rows."""
    each = at(tree, node)
    if each.children == 0:
        actions = search.memory.actions
        n, first = search.kernels.legal(search.positions.board, actions), tree.used[0]
        if first + n > len(tree.nodes):
            return False
        for i in range(n):
            clear_node(tree, first + i)
            at(tree, first + i).action = actions[i]
            if len(tree.guide) > 0:
                guide = tree.guide[first + i]
                guide.prior = np.float32(1.0)
                guide.pending = 0
                guide.tie = 0
        each.first_child = first
        each.children = n
        each.width = n
        each.tried = n
        tree.used[0] = first + n
    return True


@inlined
def expand(tree: Tree, search: SearchContext, node: int, depth: int) -> bool:
    """Return whether a child can be visited; with playouts, not before the second visit."""
    each = at(tree, node)
    each.nature = search.positions.board[0] == 0
    if each.nature == 0:
        return _expand_decision(tree, search, node, depth)
    if len(tree.guide) == 0 and (each.visits == 0 or depth == search.config.max_depth):
        return False
    return add_outcomes(tree, search, node)


@inlined
def select_child(tree: Tree, search: SearchContext, node: int, again: bool) -> int:
    """Return the row of the child to visit next; outcomes are drawn by their weights."""
    if search.positions.board[0] != 0:
        return _select_action(tree, search, node, again)
    weights, each = search.memory.assumed, at(tree, node)
    search.kernels.chances(search.positions.board, weights)
    total = 0
    for i in range(each.children):
        total += weights[i]
    left, place = draw(search.memory.rng, total), 0
    while left >= weights[place]:
        left -= weights[place]
        place += 1
    return int(each.first_child) + place


@inlined
def mover_into(board: Board, before: int) -> int:
    """Return the player for whom the results of the next node count."""
    return before if board[0] == 0 else board[0]


@inlined
def proof_by_children(tree: Tree, node: int, again: bool) -> int:
    """Return the proof that follows from the children; where nature moves, from equal proofs."""
    each = at(tree, node)
    if each.nature == 0:
        return _proof_of_decision(tree, node, again)
    proof = at(tree, each.first_child).proof
    for child in range(each.first_child, each.first_child + each.children):
        if at(tree, child).proof != proof:
            proof = UNKNOWN
    return proof


def _copy(step: Callable[..., Any], **functions: Callable[..., Any]) -> Callable[..., Any]:
    """Return a copy of a step of the loop that calls other functions."""
    source = step.py_func  # type: ignore[attr-defined]
    return inlined(given(source, f"{source.__name__}_with_chance", __name__, **functions))


_back_up = _copy(simulation.back_up, proof_by_children=proof_by_children)
_evaluate_leaf = _copy(guided.evaluate_leaf, back_up=_back_up)


@inlined
def evaluate_leaf(tree: Tree, search: SearchContext, number: int, leaf: int, depth: int) -> int:
    """Back up a known result; if it is not known, the leaf waits for the net.

    Where nature moves, a leaf is a node for whose outcomes the tree has no room.
    """
    result = _evaluate_leaf(tree, search, number, leaf, depth)
    if result == WAITING and at(tree, search.memory.path[depth]).nature != 0:
        search.leaves.player[leaf] = search.memory.movers[depth]
        search.leaves.moves[leaf] = 0
    return int(result)


def _search_with(name: str, policy: Any, **steps: Callable[..., Any]) -> Callable[..., int]:
    """Return the loop, compiled with the steps of a policy at decisions."""
    return search_with(
        name,
        __name__,
        expand=_copy(expand, _expand_decision=policy.expand),
        select_child=_copy(select_child, _select_action=policy.select_child),
        mover_into=mover_into,
        **steps,
    )


@functools.cache
def search_with_playouts() -> Callable[..., int]:
    """Return the loop of searches with playouts, compiled when it is first needed."""
    evaluated = _copy(playouts.evaluate_leaf, back_up=_back_up)
    return _search_with("search_with_playouts", playouts, evaluate_leaf=evaluated)


@functools.cache
def search_with_net() -> Callable[..., int]:
    """Return the loop of searches with a net, compiled when it is first needed."""
    absorb = _copy(guided.absorb, back_up=_back_up)
    return _search_with("search_with_net", guided, evaluate_leaf=evaluate_leaf, absorb=absorb)
