"""The policy of a search with playouts for games with chance: nature's outcomes are drawn.

A node where nature moves has a row for each outcome, and a simulation goes to one of them by its
weight. The result of an outcome counts for the same player as that of the node before it: the one
who made the last move. The node is proven only if all its outcomes have one result. Other nodes are
those of `playouts`. Games without chance use none of this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types

from playout.games import Board
from playout.games.core.kernels import compiled, given, inlined
from playout.games.core.random import draw
from playout.players.mcts import playouts, simulation
from playout.players.mcts.search import search_trees, signature_for
from playout.players.mcts.simulation import SearchContext
from playout.players.mcts.tree import UNKNOWN, Tree, at, clear_node

_expand_decision, _select_action = playouts.expand, playouts.select_child
_proof_of_decision = simulation.proof_by_children


@inlined
def expand(tree: Tree, search: SearchContext, node: int, depth: int) -> bool:
    """Return whether a child can be visited; a node is expanded at its second visit."""
    board, each = search.positions.board, at(tree, node)
    each.nature = board[0] == 0
    if board[0] != 0:
        return _expand_decision(tree, search, node, depth)
    if each.children == 0:
        if each.visits == 0 or depth == search.config.max_depth:
            return False
        actions = search.memory.actions
        n, first = search.kernels.legal(board, actions), tree.used[0]
        if first + n > len(tree.nodes):
            return False
        for i in range(n):
            clear_node(tree, first + i)
            at(tree, first + i).action = actions[i]
        each.first_child = first
        each.children = n
        each.width = n
        each.tried = n
        tree.used[0] = first + n
    return True


@inlined
def select_child(tree: Tree, search: SearchContext, node: int, again: bool) -> int:
    """Return the row of the child to visit next; outcomes are drawn by their weights."""
    board = search.positions.board
    if board[0] != 0:
        return _select_action(tree, search, node, again)
    weights, each = search.memory.assumed, at(tree, node)
    search.kernels.chances(board, weights)
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

search_with_chance = compiled(signature_for(types.int64), allocates=False)(
    given(
        search_trees,
        "search_with_chance",
        __name__,
        expand=expand,
        select_child=select_child,
        mover_into=mover_into,
        evaluate_leaf=_copy(playouts.evaluate_leaf, back_up=_back_up),
    )
)
