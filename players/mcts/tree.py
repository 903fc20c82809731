"""The search tree, an array whose rows are nodes, and a table of proven positions.

The table has positions by their hash, so that a proof on one path is used on all others. Games such
as nim reach positions by many paths; a tree, with a node for each path, could not prove them alone.
"""

from __future__ import annotations

import mmap
from typing import Any, NamedTuple

import numpy as np
from numba import from_dtype, types
from numpy.typing import NDArray

from playout.games.core.kernels import compiled, inlined

#: A proof is a word: the hash of the position, with the outcome in its lowest bits.
Proofs = NDArray[np.int64]

ENTRIES = 2**18
#: Boards with more words are not hashed: that costs more time than the proofs save.
MAX_WORDS = 64
_OUTCOME, _TIE = 3, 3
_INDEX = 20


def new_proofs(words: int) -> Proofs:
    """Return an empty table for boards of `words` words; of length 0 if they are too large."""
    return np.zeros(ENTRIES if words <= MAX_WORDS else 0, dtype=np.int64)


@inlined
def look_up(proofs: Proofs, key: int) -> int:
    """Return the proven outcome of a position: 1, 2, -1 for a tie, 0 if unknown."""
    word = proofs[(key >> _INDEX) & (len(proofs) - 1)]
    if (word ^ key) & ~_OUTCOME != 0:
        return 0
    outcome = word & _OUTCOME
    return -1 if outcome == _TIE else outcome


@inlined
def remember(proofs: Proofs, key: int, outcome: int) -> None:
    """Store a proof, and overwrite the one with the same index."""
    found = _TIE if outcome < 0 else outcome
    proofs[(key >> _INDEX) & (len(proofs) - 1)] = key & ~_OUTCOME | found


ROOT = 0

#: The proof of a node, for the player who moved into it.
UNKNOWN, WIN, TIE, LOSS = 0, 1, 2, -1

#: A node takes half a cache line, and the children of a node are adjacent, so that reading them all
#: touches few lines. `average` and `inverse_sqrt_visits` follow from visits and value; they are
#: stored because selection at the parent reads a node many times for each visit.
NODE = np.dtype(
    [
        ("visits", np.int32),
        ("value", np.int32),  # half points, summed, of the player who moved into it
        ("average", np.float32),  # points per visit, from 0 to 1; of a proven node its value
        ("inverse_sqrt_visits", np.float32),  # 1 / sqrt(visits), 0 when proven
        ("first_child", np.int32),
        ("action", np.uint16),  # that leads into it
        ("children", np.uint16),  # legal actions; 0 until the node is expanded
        ("width", np.uint16),  # rows allocated for children, from first_child on
        ("tried", np.uint16),  # visited children, which are the first rows
        ("log_visits", np.uint16),  # place of its visits in a table of logarithms, once expanded
        ("proof", np.int8),
        ("nature", np.int8),  # whether nature moves, in a game with chance, once expanded
    ],
    align=True,
)
#: All-moves-as-first: the results when the player chose this action here or later.
AMAF = np.dtype(
    [
        ("visits", np.int32),
        ("average", np.float32),
        ("near", np.uint16),  # children to try before the others, which are the first rows
    ],
    align=True,
)
#: The columns beside a node of a search guided by a net.
GUIDE = np.dtype(
    [
        ("prior", np.float32),  # the policy's probability of the action that leads into it
        ("pending", np.int16),  # simulations through it that wait for the net
        ("tie", np.int8),  # whether a child is a proven tie, so that the player has at least a tie
    ],
    align=True,
)

#: Limits of the integer types above.
MAX_ACTIONS = 2**16 - 1
MAX_NODES = 2**31 - 1
MAX_SIMULATIONS = 2**30 - 1

#: The mean of a node that is proven lost for the player who moved into it: below any other score.
LOST_MEAN = np.float32(-1e9)


class Tree(NamedTuple):
    """A search tree, or several with the same number of rows: columns whose rows are nodes.

    The root of a tree is its first row.
    """

    nodes: Any  # [row] of NODE
    amaf: Any  # [row] of AMAF; empty for a search without RAVE
    guide: Any  # [row] of GUIDE; empty for a search without a net
    owner: NDArray[np.int32]  # [row] working memory of `compact`
    used: NDArray[np.int64]  # [tree] number of rows in use


TREE = types.NamedTuple(
    [
        from_dtype(NODE)[::1],
        from_dtype(AMAF)[::1],
        from_dtype(GUIDE)[::1],
        types.int32[::1],
        types.int64[::1],
    ],
    Tree,
)


def new_tree(megabytes: float, *, amaf: bool = False, guide: bool = False) -> Tree:
    """Return a tree of at most `megabytes`; the system allocates pages as it grows.

    Raises OSError, OverflowError or ValueError if the memory cannot be reserved.
    """
    row = (
        NODE.itemsize + AMAF.itemsize * amaf + GUIDE.itemsize * guide + np.dtype(np.int32).itemsize
    )
    rows = min(int(megabytes * 2**20) // row, MAX_NODES)
    tree = Tree(
        nodes=_column(NODE, rows),
        amaf=_column(AMAF, rows if amaf else 0),
        guide=_column(GUIDE, rows if guide else 0),
        owner=_column(np.dtype(np.int32), rows),
        used=zeros(1),
    )
    clear(tree)
    return tree


def new_forest(trees: int, rows: int) -> Tree:
    """Return `trees` trees of `rows` rows each, contiguous, for a search guided by a net."""
    nothing: NDArray[Any] = np.empty(0, dtype=AMAF)
    return Tree(
        nodes=_column(NODE, trees * rows),
        amaf=nothing,
        guide=_column(GUIDE, trees * rows),
        owner=np.empty(0, dtype=np.int32),
        used=np.zeros(trees, dtype=np.int64),
    )


def _column(kind: np.dtype[Any], rows: int) -> NDArray[Any]:
    """Return a column whose memory is allocated in small pages.

    Numpy requests huge pages. Finding and clearing one took 5 ms in a virtual machine, during a
    move; the search is as fast without them.
    """
    if rows == 0:
        return np.empty(0, dtype=kind)
    size = rows * kind.itemsize
    block = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        block.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(block, dtype=kind)


def apart(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of an array that shares no cache line with other data, for one thread."""
    padding = 64 // array.itemsize
    spacious = np.empty(len(array) + 2 * padding, dtype=array.dtype)
    copy = spacious[padding : padding + len(array)]
    copy[:] = array
    return copy


def zeros(n: int) -> NDArray[np.int64]:
    """Return a vector of zeros that shares no cache line with other data."""
    return apart(np.zeros(n, dtype=np.int64))


def interpreted(tree: Tree) -> Tree:
    """Return the same tree for uncompiled code, where `nodes[i].visits` needs a record array."""
    return tree._replace(
        nodes=tree.nodes.view(np.recarray),
        amaf=tree.amaf.view(np.recarray),
        guide=tree.guide.view(np.recarray),
    )


@inlined
def root_of(tree: Tree, number: int) -> int:
    """Return the root of the tree `number`."""
    return number * (len(tree.nodes) // len(tree.used))


@inlined
def at(tree: Tree, row: int) -> Any:
    """Return the node in a row, without the test whether its number is negative."""
    return tree.nodes[np.uint64(row)]


@inlined
def clear_node(tree: Tree, row: int) -> None:
    """Set a node to one without visits, children and proof."""
    node = at(tree, row)
    node.visits = 0
    node.value = 0
    node.average = np.float32(0.0)
    node.children = 0
    node.width = 0
    node.tried = 0
    node.proof = UNKNOWN


def clear(tree: Tree) -> None:
    """Remove all nodes but a root with one visit, so that the first simulation expands it.

    With a net, the root has no visit: its own evaluation is the first.
    """
    guided = len(tree.guide) > 0
    tree.nodes[ROOT] = np.zeros((), NODE)
    tree.nodes[ROOT]["visits"] = 0 if guided else 1
    if guided:
        tree.guide[ROOT] = np.zeros((), GUIDE)
    tree.used[0] = 1


@compiled(types.int64(TREE, types.int64, types.int64, types.int64[::1]), allocates=False)
def compact(tree: Tree, root: int, least: int, stack: NDArray[np.int64]) -> int:
    """Make `root` the root, and remove the children of other nodes with fewer than `least` visits.

    A node without its children is expanded again at its next visit; proofs stay. `stack` has room
    for all nodes of a path and their siblings. Returns the number of rows that are left.
    """
    nodes, owner = tree.nodes, tree.owner
    for row in range(tree.used[0]):
        owner[row] = -1

    # Mark: `owner` of a first child is its parent, if the parent keeps its children.
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

    # Move: blocks of siblings move to the front in their order. `owner` of a block is the row of
    # the parent: the new row as soon as the parent has moved.
    used = tree.used[0]
    nodes[ROOT] = nodes[root]
    if len(tree.amaf) > 0:
        tree.amaf[ROOT] = tree.amaf[root]
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
            if len(tree.guide) > 0:
                tree.guide[to + i] = tree.guide[row + i]
            if nodes[to + i].width > 0 and nodes[to + i].first_child > row:
                owner[nodes[to + i].first_child] = to + i
        to += width
        row += width
    tree.used[0] = to
    return to
