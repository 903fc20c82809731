"""The search tree: flat arrays, and the steps that work on them."""

from __future__ import annotations

import math
import mmap
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from games.core.kernels import compiled
from games.core.random import Rng, draw

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]

ROOT = 0


class Tree(NamedTuple):
    """Nodes are rows of these arrays, the children of a node are neighbours.

    `mean` and `doubt` follow from visits and value. They are kept because a node is looked at by
    its parent many times for each time it is visited: without the division and the square root
    per look, a search of Connect Four is half as fast again.
    """

    first_child: Ints  # [node]
    children: Ints  # [node] how many; 0 until the node is expanded
    action: Ints  # [node] that leads into it
    visits: Ints  # [node]
    value: Ints  # [node] half points, summed, of the player who moved into it
    mean: Floats  # [node] points a visit, from 0 to 1
    doubt: Floats  # [node] 1 / sqrt(visits)
    used: Ints  # [1] rows that are taken


BYTES_PER_NODE = 4 * 7
#: Rows and half points are counted in 32 bits.
MOST_NODES = 2**31 - 1
MOST_SIMULATIONS = 2**30 - 1

_INTS, _FLOATS = types.int32[::1], types.float32[::1]
TREE = types.NamedTuple([_INTS] * 5 + [_FLOATS] * 2 + [_INTS], Tree)


def new_tree(megabytes: int) -> Tree:
    """A tree with room for that many bytes of nodes. Pages are taken as it grows."""
    nodes = min(megabytes * 2**20 // BYTES_PER_NODE, MOST_NODES)
    columns = np.frombuffer(_small_pages(nodes * BYTES_PER_NODE), dtype=np.int32)
    first_child, children, action, visits, value, mean, doubt = columns.reshape(7, nodes)
    tree = Tree(
        first_child,
        children,
        action,
        visits,
        value,
        mean.view(np.float32),
        doubt.view(np.float32),
        used=np.zeros(1, dtype=np.int32),
    )
    clear(tree)
    return tree


def _small_pages(size: int) -> mmap.mmap:
    """Memory that is taken a small page at a time.

    Numpy asks for huge pages. Where the system has to find and clear one, as in a virtual machine,
    that took 5 ms here, in the middle of a move; the search is as fast without them.
    """
    block = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        block.madvise(mmap.MADV_NOHUGEPAGE)
    return block


def clear(tree: Tree) -> None:
    """Leave nothing but a root, which counts as visited: the first simulation expands it."""
    tree.children[ROOT] = tree.value[ROOT] = 0
    tree.visits[ROOT] = 1
    tree.used[0] = 1


@compiled(types.int64(TREE, types.int64, types.float64))
def select(tree: Tree, node: int, c: float) -> int:
    """The child to visit next, by UCB1 (Auer et al. 2002; Kocsis & Szepesvári 2006).

    Children stand in random order, so the first untried one is a random one, and among equals
    the first is as good as a draw. A node is expanded on its second visit; on its n-th after
    that, n - 1 children have been tried.
    """
    first, children = tree.first_child[node], tree.children[node]
    tried = tree.visits[node] - 1
    if tried < children:
        return first + tried
    scale = np.float32(c * math.sqrt(math.log(tree.visits[node])))
    best, best_score = first, np.float32(-1.0)
    for child in range(first, first + children):
        score = tree.mean[child] + scale * tree.doubt[child]
        if score > best_score:
            best, best_score = child, score
    return best


@compiled(types.boolean(TREE, types.int64, types.int64[::1], types.int64, types.uint64[::1]))
def expand(tree: Tree, node: int, actions: NDArray[np.int64], n: int, rng: Rng) -> bool:
    """Give a node its children, in random order; False if the tree is full."""
    first = tree.used[0]
    if first + n > len(tree.visits):
        return False
    for i in range(n):
        pick = i + draw(rng, n - i)
        tree.action[first + i] = actions[pick]
        actions[pick] = actions[i]
        tree.visits[first + i] = 0
        tree.children[first + i] = 0
        tree.value[first + i] = 0
    tree.first_child[node] = first
    tree.children[node] = n
    tree.used[0] = first + n
    return True


@compiled(types.void(TREE, types.int64[::1], types.int64[::1], types.int64, types.int64))
def back_up(
    tree: Tree, path: NDArray[np.int64], movers: NDArray[np.int64], depth: int, outcome: int
) -> None:
    """Count a result in every node of `path[0..depth]`; `movers[i]` is who moved into `path[i]`."""
    for i in range(depth + 1):
        node = path[i]
        tree.visits[node] += 1
        if movers[i] == outcome:
            tree.value[node] += 2
        elif outcome < 1:
            tree.value[node] += 1
        share = np.float32(1.0) / np.float32(tree.visits[node])
        tree.mean[node] = np.float32(0.5) * np.float32(tree.value[node]) * share
        tree.doubt[node] = math.sqrt(share)
