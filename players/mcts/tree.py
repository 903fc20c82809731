"""The search tree: rows of one array, and the steps that work on them."""

from __future__ import annotations

import mmap
from typing import Any, NamedTuple

import numpy as np
from numba import from_dtype, types
from numpy.typing import NDArray

ROOT = 0

#: What is known of a node, for the player who moved into it.
UNKNOWN, WIN, TIE, LOSS = 0, 1, 2, -1

#: A node takes half a cache line, and the children of a node are neighbours: a look at all of them
#: touches few lines. `average` and `doubt` follow from visits and value; they are kept because a
#: node is looked at by its parent many times for each time it is visited.
NODE = np.dtype(
    [
        ("visits", np.int32),
        ("value", np.int32),  # half points, summed, of the player who moved into it
        ("average", np.float32),  # points a visit, from 0 to 1; of a proven node what it is worth
        ("doubt", np.float32),  # 1 / sqrt(visits), 0 when proven
        ("first_child", np.int32),
        ("action", np.uint16),  # that leads into it
        ("children", np.uint16),  # legal actions; 0 until the node is expanded
        ("width", np.uint16),  # rows that its children have, from first_child on
        ("tried", np.uint16),  # children that were visited: the first ones
        ("near", np.uint16),  # children that are to be tried before the others: the first ones
        ("proof", np.int8),
    ],
    align=True,
)
#: All-moves-as-first: what happened when the player chose this action here or later.
AMAF = np.dtype([("visits", np.int32), ("average", np.float32)], align=True)

#: What an action, and a row, must fit in.
MOST_ACTIONS = 2**16 - 1
MOST_NODES = 2**31 - 1
MOST_SIMULATIONS = 2**30 - 1

#: The mean of a node that is lost for who moves into it: no other score is as low.
HOPELESS = np.float32(-1e9)


class Tree(NamedTuple):
    """Rows are nodes."""

    nodes: Any  # [row] of NODE
    amaf: Any  # [row] of AMAF; empty for a search that makes no use of it
    owner: NDArray[np.int32]  # [row] room for `players.mcts.pruning`
    used: NDArray[np.int64]  # [1] rows that are taken


TREE = types.NamedTuple(
    [
        from_dtype(NODE)[::1],
        from_dtype(AMAF)[::1],
        types.int32[::1],
        types.int64[::1],
    ],
    Tree,
)


def new_tree(megabytes: float, *, amaf: bool) -> Tree:
    """A tree with room for that many bytes of nodes. Pages are taken as it grows."""
    row = NODE.itemsize + (AMAF.itemsize if amaf else 0) + np.dtype(np.int32).itemsize
    rows = min(int(megabytes * 2**20) // row, MOST_NODES)
    tree = Tree(
        nodes=_column(NODE, rows),
        amaf=_column(AMAF, rows if amaf else 0),
        owner=_column(np.dtype(np.int32), rows),
        used=apart(np.zeros(1, dtype=np.int64)),
    )
    clear(tree)
    return tree


def _column(kind: np.dtype[Any], rows: int) -> NDArray[Any]:
    """Memory that is taken a small page at a time.

    Numpy asks for huge pages. Where the system has to find and clear one, as in a virtual machine,
    that took 5 ms here, in the middle of a move; the search is as fast without them.
    """
    if rows == 0:
        return np.empty(0, dtype=kind)
    size = rows * kind.itemsize
    block = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        block.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(block, dtype=kind)


def apart(array: NDArray[Any]) -> NDArray[Any]:
    """A copy that shares no cache line with what another thread writes to."""
    padding = 64 // array.itemsize
    spacious = np.empty(len(array) + 2 * padding, dtype=array.dtype)
    copy = spacious[padding : padding + len(array)]
    copy[:] = array
    return copy


def interpreted(tree: Tree) -> Tree:
    """The same tree for uncompiled code, where `nodes[i].visits` needs a record array."""
    return tree._replace(nodes=tree.nodes.view(np.recarray), amaf=tree.amaf.view(np.recarray))


def clear(tree: Tree) -> None:
    """Leave nothing but a root, which counts as visited: the first simulation expands it."""
    tree.nodes[ROOT] = np.zeros((), NODE)
    tree.nodes[ROOT]["visits"] = 1
    tree.used[0] = 1
