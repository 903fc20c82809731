"""Which child to visit next: the selection rules, side by side.

Each gives the row of a child; the score of one is the mean of its results plus what makes up for
knowing little of it. Children that are proven lost score HOPELESS, proven ties one half.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types

from games.core.kernels import inlined
from players.mcts.tree import HOPELESS, Tree

#: The rules, as numbers that compiled code can take.
UCB1, TUNED, RAVE, FLAT = 0, 1, 2, 3
#: How RAVE weighs its two estimates.
HAND_SELECTED, MINIMUM_MSE = 0, 1
#: A first-play urgency above any mean: every action is tried once before any is tried twice.
UNTRIED_FIRST = 2.0

#: sqrt(log(n)), by the upper bits of n as a float32: exact up to 512, then n is rounded down by
#: less than 1/256. A call of the logarithm at each node took a fifth of a search of tic-tac-toe.
_SHIFT = 23 - 8
_ONE = int(np.float32(1).view(np.int32)) >> _SHIFT
_BITS = np.arange(_ONE, (int(np.float32(2**31).view(np.int32)) >> _SHIFT) + 1) << _SHIFT
_TABLE = np.sqrt(np.log(_BITS.astype(np.int32).view(np.float32))).astype(np.float32)
_SQRT_2 = np.float32(math.sqrt(2.0))
_0, _QUARTER, _1 = np.float32(0.0), np.float32(0.25), np.float32(1.0)


class Selection(NamedTuple):
    """What the rules need to know."""

    rule: int
    c: float  # weight of exploration
    fpu: float  # first-play urgency: the score of what was never tried; above 1: it goes first
    schedule: int  # of RAVE
    k: float  # hand-selected: visits at which both estimates weigh the same
    bias: float  # minimum MSE: how far off all-moves-as-first is


SELECTION = types.NamedTuple(
    [types.int64, types.float64, types.float64, types.int64, types.float64, types.float64],
    Selection,
)


@inlined
def sqrt_log(n: int) -> np.float32:
    """The square root of the natural logarithm of a number of visits."""
    return _TABLE[(np.float32(n).view(np.int32) >> _SHIFT) - _ONE]


@inlined
def by_ucb1(tree: Tree, node: int, c: float) -> Any:
    """UCB1 (Auer, Cesa-Bianchi & Fischer 2002; in trees: Kocsis & Szepesvári 2006)."""
    parent = tree.nodes[node]
    first = parent.first_child
    scale = np.float32(c) * sqrt_log(parent.visits)
    best, best_score = first, np.float32(-np.inf)
    for child in range(first, first + parent.tried):
        score = tree.nodes[child].average + scale * tree.nodes[child].doubt
        if score > best_score:
            best, best_score = child, score
    return best, best_score


@inlined
def by_ucb1_tuned(tree: Tree, node: int, c: float) -> Any:
    """UCB1-tuned (Auer et al. 2002, section 4), for c = 1 as it stands there.

    The variance is that of a result without ties; ties make it smaller.
    """
    parent = tree.nodes[node]
    first = parent.first_child
    root_log = sqrt_log(parent.visits)
    best, best_score = first, np.float32(-np.inf)
    for child in range(first, first + parent.tried):
        mean, width = tree.nodes[child].average, root_log * tree.nodes[child].doubt
        variance = mean * (_1 - mean) + _SQRT_2 * width
        score = mean + np.float32(c) * width * math.sqrt(min(_QUARTER, max(variance, _0)))
        if score > best_score:
            best, best_score = child, np.float32(score)
    return best, best_score


@inlined
def least_visited(tree: Tree, node: int) -> Any:
    """Flat Monte Carlo: every action as often as the others."""
    parent = tree.nodes[node]
    first = parent.first_child
    best, fewest = first, np.float32(-np.inf)
    for child in range(first, first + parent.tried):
        known = tree.nodes[child].proof != 0
        score = HOPELESS if known else -np.float32(tree.nodes[child].visits)
        if score > fewest:
            best, fewest = child, score
    return best, fewest


@inlined
def by_rave(tree: Tree, node: int, how: Selection) -> int:
    """UCT-RAVE (Gelly & Silver 2011): the results of a child and those of all moves as first.

    Both schedules are theirs: beta = sqrt(k / (3 N + k)) with the N visits of the node, and
    beta = m / (n + m + 4 n m b^2) with the n visits and the m all-moves-as-first visits of the
    child. What was never visited has nothing but the latter.
    """
    parent = tree.nodes[node]
    first, tried = parent.first_child, parent.tried
    scale = np.float32(how.c) * sqrt_log(parent.visits)
    beta = np.float32(math.sqrt(how.k / (3.0 * parent.visits + how.k)))
    bias = np.float32(4.0 * how.bias * how.bias)
    best, best_score = first, np.float32(-np.inf)
    for child in range(first, first + tried):
        each, amaf = tree.nodes[child], tree.amaf[child]
        score = each.average
        if each.doubt > _0:
            if how.schedule == MINIMUM_MSE:
                n, m = np.float32(each.visits), np.float32(amaf.visits)
                beta = m / (n + m + n * m * bias)
            score = beta * amaf.average + (_1 - beta) * score + scale * each.doubt
        if score > best_score:
            best, best_score = child, score
    # Of the untried, those that are near go first as long as there are any.
    last = parent.near if tried < parent.near else parent.width
    urgency = np.float32(how.fpu)
    for child in range(first + tried, first + last):
        amaf = tree.amaf[child]
        score = amaf.average if amaf.visits > 0 else urgency
        if score > best_score:
            best, best_score = child, score
    return best


@inlined
def select(tree: Tree, node: int, how: Selection) -> int:
    """The child of an expanded node to visit next.

    Children stand in random order, so the first untried one is a random one, and among equals
    the first is as good as a draw.
    """
    if how.rule == RAVE:
        return by_rave(tree, node, how)
    parent = tree.nodes[node]
    first, tried = parent.first_child, parent.tried
    untried = tried < parent.width
    if untried and (how.fpu > 1.0 or tried == 0):
        return first + tried
    if how.rule == UCB1:
        best, score = by_ucb1(tree, node, how.c)
    elif how.rule == TUNED:
        best, score = by_ucb1_tuned(tree, node, how.c)
    else:
        best, score = least_visited(tree, node)
    if untried and how.fpu > score:
        return first + tried
    return best
