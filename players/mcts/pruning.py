"""Keeping what is worth keeping of a tree: the subtree of what was played, and what was visited.

Rows are slid down to the front, so that a tree needs no second copy of itself.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from games.core.kernels import compiled
from players.mcts.tree import ROOT, TREE, Tree

#: Rows that are gone through in a second, at least: 43 to 218 million here. A full tree of 256 MB
#: has seven million.
ROWS_A_SECOND = 3e7


@compiled(types.int64(TREE, types.int64, types.int64, types.int64[::1]), allocates=False)
def keep(tree: Tree, root: int, least: int, stack: NDArray[np.int64]) -> int:
    """Make `root` the root, and drop the children of other nodes visited less than `least` times.

    What was dropped is grown anew when it is visited again; proofs stay. `stack` has room for as
    many rows as there can be on a path and beside it. The rows that are left.
    """
    nodes, owner = tree.nodes, tree.owner
    for row in range(tree.used[0]):
        owner[row] = -1

    # Mark: the first child of each node that keeps its children knows that node.
    stack[0] = root
    n = 1
    while n > 0:
        n -= 1
        node = stack[n]
        if nodes[node].width > 0 and (nodes[node].visits >= least or node == root):
            first = nodes[node].first_child
            owner[first] = node
            for child in range(first, first + nodes[node].tried):
                if nodes[child].width > 0:
                    stack[n] = child
                    n += 1
        elif nodes[node].width > 0:
            nodes[node].width = 0
            nodes[node].tried = 0
            nodes[node].children = 0

    # Slide: blocks go down in the order in which they lie. A block whose owner has yet to move is
    # found again through the owner's row; one whose owner has moved, through where that is now.
    used = tree.used[0]
    nodes[ROOT] = nodes[root]
    if nodes[ROOT].width > 0:
        owner[nodes[ROOT].first_child] = ROOT
    to = 1
    row = 1
    while row < used:
        if owner[row] < 0:
            row += 1
            continue
        parent = owner[row]
        width = nodes[parent].width
        nodes[parent].first_child = to
        for i in range(width):
            nodes[to + i] = nodes[row + i]
            if len(tree.amaf) > 0:
                tree.amaf[to + i] = tree.amaf[row + i]
            if nodes[to + i].width > 0 and nodes[to + i].first_child > row:
                owner[nodes[to + i].first_child] = to + i
        to += width
        row += width
    tree.used[0] = to
    return to
