"""One search tree with its working memory, used by one thread at a time.

When a match continues or the tree is full, the tree is compacted in place: the subtree of the
played moves is kept, or the most visited nodes. Rows move to the front, so that no second tree is
needed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from playout.games import Game, State
from playout.games.core.kernels import compiled, uncompiled
from playout.players.core.rules import rules_of
from playout.players.evaluations.placements import Placements, no_placements, with_own_memory
from playout.players.mcts.selection import FLAT, PUCT, RAVE
from playout.players.mcts.tree import (
    MAX_SIMULATIONS,
    ROOT,
    TREE,
    UNKNOWN,
    Tree,
    apart,
    clear,
    interpreted,
    new_tree,
)
from playout.players.mcts.uct_simulation import (
    SearchConfig,
    new_buffers,
    run_simulations,
    search_kernels,
)

#: Seconds that the compiled search runs before it reads the clock again: least, most, and the
#: share of the remaining time.
SLICE_S, LONGEST_SLICE_S, SLICE_SHARE = 0.001, 0.004, 0.125
#: A full tree is pruned after a multiple of this many simulations, independent of the clock, so
#: that a search is repeatable.
PRUNING_INTERVAL = 4096
#: The share of the remaining time that compacting the tree may take.
COMPACTING_SHARE = 0.1
#: A lower bound of the rows compacted per second; measured: 43 to 218 million. A full tree of
#: 256 MB has seven million.
ROWS_PER_SECOND = 3e7


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


class Worker:
    """Runs simulations on a tree, and keeps its useful part when the match continues."""

    def __init__(
        self,
        game: Game,
        config: SearchConfig,
        seed: int,
        megabytes: float,
        neighbours: NDArray[np.int64],
        placements: Placements | None = None,
    ) -> None:
        """Allocate the tree. Raises OSError, OverflowError or ValueError if that fails."""
        self._rules = rules = rules_of(game)
        self._run_simulations = run_simulations if rules.compiled else uncompiled(run_simulations)
        heavy = rules.heavy if config.heavy else None
        decisive = rules.decisive if config.decisive and not heavy else None
        selection = config.selection
        self.config = config._replace(
            selection=selection._replace(
                c=float(selection.c),
                fpu=float(selection.fpu),
                k=float(selection.k),
                bias=float(selection.bias),
                prior=float(selection.prior) if rules.prior else 0.0,
            ),
            heavy=heavy is not None,
            decisive=decisive is not None,
        )
        self._kernels = search_kernels(rules, heavy or decisive)
        #: Whether the selection visits all actions equally often, so that their means rank them.
        self.visits_evenly = selection.rule == FLAT
        words = len(rules.board(game.initial_state()))
        own = with_own_memory(placements or no_placements())
        self._buffers = new_buffers(game, neighbours, words, seed, own)
        self.tree = new_tree(megabytes, amaf=selection.rule == RAVE, guide=selection.rule == PUCT)
        self._compiled_tree = self.tree if rules.compiled else interpreted(self.tree)
        #: Most nodes on a path with their siblings: a simulation adds no more rows.
        self._rows_per_simulation = (game.max_plies + 1) * game.num_actions
        self._stack = np.empty(min(len(self.tree.nodes), self._rows_per_simulation), dtype=np.int64)
        self._min_visits = 2  # visits of a node that keeps its children when the tree is full
        self._root: Any = None
        self._board: Any = None

    def reset(self, state: State) -> None:
        """Start a new tree with `state` as its root."""
        clear(self.tree)
        self._buffers.proofs[:] = 0
        self._min_visits = 2
        self._set(state)

    def advance(self, actions: Sequence[int], state: State, seconds: float) -> bool:
        """Make `state`, after `actions`, the root and keep its subtree; return whether it did.

        It does not if there is no such subtree, or if that takes a large part of `seconds`.
        """
        row = self.find(actions)
        if row is None or (row != ROOT and not self._compact(row, 0, seconds)):
            return False
        root = self.tree.nodes[ROOT]
        root["proof"] = UNKNOWN  # its children prove it again, so that one of them can be played
        root["visits"] = max(1, root["visits"])
        self._set(state)
        return True

    def _set(self, state: State) -> None:
        self._root, self._board = self._rules.board(state), self._rules.board(state)
        if self._rules.compiled:
            self._board = apart(self._board)
        self._buffers.counters[1] = 0

    def find(self, actions: Sequence[int], row: int = ROOT) -> int | None:
        """Return the row after `actions` from `row`, or None."""
        for action in actions:
            children = self.children(row)
            found = np.flatnonzero(self.tree.nodes["action"][children] == action)
            if not len(found):
                return None
            row = children.start + int(found[0])
        return row

    @property
    def complete(self) -> bool:
        """Whether every action of the root has been visited."""
        root = self.tree.nodes[ROOT]
        return bool(root["tried"] == root["children"])

    def children(self, row: int) -> slice:
        """Return the slice of rows of a node's children."""
        node = self.tree.nodes[row]
        first = int(node["first_child"])
        return slice(first, first + int(node["width"]))

    @property
    def depth(self) -> int:
        """The greatest depth below the root, in plies."""
        return int(self._buffers.counters[1])

    @property
    def proven(self) -> bool:
        """Whether the value of the root is proven."""
        return bool(self.tree.nodes[ROOT]["proof"] != UNKNOWN)

    def search(self, simulations: int, deadline: float, halt: Callable[[int], bool]) -> int:
        """Run simulations until the root is proven, a limit is reached, or `halt` returns true.

        `halt` is called after each slice with the greatest number of simulations that are left. At
        least one simulation is run. Returns the number of simulations.
        """
        simulations = min(simulations, MAX_SIMULATIONS - int(self.tree.nodes[ROOT]["visits"]))
        now, count, done = time.perf_counter(), 1, 0
        while done == 0 or (done < simulations and now < deadline):
            done += self._simulate(count)
            if self.proven:
                break
            before, now = now, time.perf_counter()
            rate = count / max(now - before, 1e-7)
            left = simulations - done
            if now - before > SLICE_S / 2:  # shorter slices mostly measure the call
                left = min(left, int(min(rate * max(0.0, deadline - now), MAX_SIMULATIONS)))
            if halt(left):
                break
            if self._full and done % PRUNING_INTERVAL == 0:
                self._prune(deadline - now)
                now = time.perf_counter()
            left_s = max(0.0, deadline - now)
            slice_s = min(max(SLICE_S, SLICE_SHARE * left_s), LONGEST_SLICE_S, left_s)
            in_time = int(rate * slice_s)
            count = max(1, min(2 * count, in_time, simulations - done))
            rows = self.tree.used[0] + count * self._rows_per_simulation
            if rows > len(self.tree.nodes):  # the tree may become full
                count = min(count, PRUNING_INTERVAL - done % PRUNING_INTERVAL)
        return done

    def _simulate(self, count: int) -> int:
        return self._run_simulations(
            self._compiled_tree,
            self._root,
            self._board,
            self._kernels,
            self._buffers,
            self.config,
            count,
        )

    @property
    def _full(self) -> bool:
        return bool(self.tree.used[0] + len(self._buffers.actions) > len(self.tree.nodes))

    def _prune(self, seconds: float) -> None:
        """Free rows if there is time: remove the children of nodes with few visits."""
        while self._compact(ROOT, self._min_visits, seconds):
            if self.tree.used[0] < len(self.tree.nodes) // 2:
                break
            self._min_visits *= 2

    def _compact(self, row: int, least: int, seconds: float) -> bool:
        """Compact the tree, unless that takes a large part of `seconds`; return whether it did."""
        if self.tree.used[0] / ROWS_PER_SECOND > COMPACTING_SHARE * seconds:
            return False
        compact(self.tree, row, least, self._stack)
        return True
