"""The selection rules: which child of a node to visit next.

Each rule returns the row of a child. The score of a child is the mean of its results plus an
exploration term. Children that are proven lost score LOST_MEAN, proven ties one half.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types

from playout.games.core.kernels import inlined
from playout.players.mcts.tree import LOST_MEAN, UNKNOWN, Tree, at

#: The selection rules, as numbers for compiled code.
UCB1, TUNED, RAVE, FLAT, PUCT = 0, 1, 2, 3, 4
#: The schedules of the weight of RAVE's two estimates.
HAND_SELECTED, MINIMUM_MSE = 0, 1
#: A first-play urgency above any mean, so that every action is tried once before any is repeated.
UNTRIED_FIRST = 2.0

#: Table of sqrt(log(n)) by the upper bits of n as a float32: exact up to 512, then n is rounded
#: down by less than 1/256. The logarithm at each node took a fifth of a search of tic-tac-toe.
_SHIFT = 23 - 8
_ONE = int(np.float32(1).view(np.int32)) >> _SHIFT
_BITS = np.arange(_ONE, (int(np.float32(2**31).view(np.int32)) >> _SHIFT) + 1) << _SHIFT
_TABLE = np.sqrt(np.log(_BITS.astype(np.int32).view(np.float32))).astype(np.float32)
_SQRT_2 = np.float32(math.sqrt(2.0))
_0, _QUARTER, _1 = np.float32(0.0), np.float32(0.25), np.float32(1.0)


class Selection(NamedTuple):
    """A selection rule and its parameters."""

    rule: int
    c: float  # weight of exploration
    fpu: float  # first-play urgency: the score of an untried child; above 1, it is visited first
    schedule: int = HAND_SELECTED  # of RAVE: HAND_SELECTED or MINIMUM_MSE
    k: float = 0.0  # hand-selected: visits at which both estimates weigh the same
    bias: float = 0.0  # minimum MSE: the assumed bias of all-moves-as-first
    prior: float = 0.0  # of RAVE: weight of the results that a game assumes
    relative: bool = False  # of PUCT: `fpu` is subtracted from the value of the parent


SELECTION = types.NamedTuple(
    [types.int64, *[types.float64] * 2, types.int64, *[types.float64] * 3, types.boolean],
    Selection,
)


@inlined
def place_in_table(visits: int) -> np.uint16:
    """Return the place of a number of visits in the table of logarithms."""
    return np.uint16((np.float32(visits).view(np.int32) >> _SHIFT) - _ONE)


@inlined
def sqrt_log(place: np.uint16) -> np.float32:
    """Return the square root of the natural logarithm of the visits with this place."""
    return _TABLE[place]


@inlined
def by_ucb1(tree: Tree, node: int, c: float) -> Any:
    """Select by UCB1 (Auer, Cesa-Bianchi & Fischer 2002; in trees: Kocsis & Szepesvári 2006)."""
    parent = at(tree, node)
    first = parent.first_child
    scale = np.float32(c) * sqrt_log(parent.log_visits)
    best, best_score = first, np.float32(-np.inf)
    for child in range(first, first + parent.tried):
        each = at(tree, child)
        score = each.average + scale * each.inverse_sqrt_visits
        if score > best_score:
            best, best_score = child, score
    return best, best_score


@inlined
def by_ucb1_tuned(tree: Tree, node: int, c: float) -> Any:
    """Select by UCB1-tuned (Auer et al. 2002, section 4); c = 1 is the published formula.

    The variance is that of results without ties; ties make it smaller.
    """
    parent = at(tree, node)
    first = parent.first_child
    root_log = sqrt_log(parent.log_visits)
    best, best_score = first, np.float32(-np.inf)
    for child in range(first, first + parent.tried):
        each = at(tree, child)
        mean, width = each.average, root_log * each.inverse_sqrt_visits
        variance = mean * (_1 - mean) + _SQRT_2 * width
        score = mean + np.float32(c) * width * math.sqrt(min(_QUARTER, max(variance, _0)))
        if score > best_score:
            best, best_score = child, np.float32(score)
    return best, best_score


@inlined
def least_visited(tree: Tree, node: int) -> Any:
    """Select the least visited child, for flat Monte Carlo."""
    parent = at(tree, node)
    first = parent.first_child
    best, fewest = first, np.float32(-np.inf)
    for child in range(first, first + parent.tried):
        each = at(tree, child)
        score = LOST_MEAN if each.proof != 0 else -np.float32(each.visits)
        if score > fewest:
            best, fewest = child, score
    return best, fewest


@inlined
def by_rave(tree: Tree, node: int, selection: Selection) -> int:
    """Select by UCT-RAVE (Gelly & Silver 2011): own results and all-moves-as-first results.

    Both schedules are from that paper: beta = sqrt(k / (3 N + k)) with the N visits of the node,
    and beta = m / (n + m + 4 n m b^2) with the n visits and the m all-moves-as-first visits of the
    child. The score of an unvisited child is its all-moves-as-first mean alone.
    """
    parent = at(tree, node)
    first, tried = parent.first_child, parent.tried
    scale = np.float32(selection.c) * sqrt_log(parent.log_visits)
    beta = np.float32(math.sqrt(selection.k / (3.0 * parent.visits + selection.k)))
    bias = np.float32(4.0 * selection.bias * selection.bias)
    best, best_score = first, np.float32(-np.inf)
    for child in range(first, first + tried):
        each, amaf = at(tree, child), tree.amaf[np.uint64(child)]
        score = each.average
        if each.inverse_sqrt_visits > _0:
            if selection.schedule == MINIMUM_MSE:
                n, m = np.float32(each.visits), np.float32(amaf.visits)
                beta = m / (n + m + n * m * bias)
            score = beta * amaf.average + (_1 - beta) * score + scale * each.inverse_sqrt_visits
        if score > best_score:
            best, best_score = child, score
    # Of the untried children, those near a stone come first.
    near = tree.amaf[np.uint64(node)].near
    last = near if tried < near else parent.width
    urgency = np.float32(selection.fpu)
    for child in range(first + tried, first + last):
        amaf = tree.amaf[np.uint64(child)]
        score = amaf.average if amaf.visits > 0 else urgency
        if score > best_score:
            best, best_score = child, score
    return best


@inlined
def select(tree: Tree, node: int, selection: Selection) -> int:
    """Return the row of the child of an expanded node to visit next.

    Children are in random order, so that the first untried child, or the first of several equal
    ones, is a random one.
    """
    if selection.rule == RAVE:
        return by_rave(tree, node, selection)
    parent = at(tree, node)
    first, tried = parent.first_child, parent.tried
    untried = tried < parent.width
    if untried and (selection.fpu > 1.0 or tried == 0):
        return first + tried
    if selection.rule == UCB1:
        best, score = by_ucb1(tree, node, selection.c)
    elif selection.rule == TUNED:
        best, score = by_ucb1_tuned(tree, node, selection.c)
    else:
        best, score = least_visited(tree, node)
    if untried and selection.fpu > score:
        return first + tried
    return best


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
