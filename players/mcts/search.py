"""The tree search: one loop for all players, and for each of their threads a tree.

A simulation goes from the root to a leaf: it *selects* a child of each node that it can *expand*,
*evaluates* the leaf, and backs the result up. The loop is given these functions by a policy:
`playout.players.mcts.playouts` or `playout.players.mcts.guided`, whose leaves wait for a net. It is
compiled once for each policy and all games, whose rules are function pointers; the same source runs
uncompiled over a game in plain Python.

The loop searches several trees side by side, so that a net evaluates leaves of all at once. Where
a search has ended, the loop asks for the next one; self-play (`playout.players.training.self_play`)
then plays a move.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from playout.games import Board, Game, State
from playout.games.core.kernels import compiled, entry_point, given, inlined, uncompiled
from playout.players.core.rules import rules_of
from playout.players.evaluations.placements import Placements, no_placements, with_own_memory
from playout.players.mcts.playouts import evaluate_leaf, expand, select_child
from playout.players.mcts.selection import FLAT, PUCT, RAVE
from playout.players.mcts.simulation import (
    DEPTH,
    SEARCH,
    TAKEN,
    WAITING,
    Callback,
    SearchConfig,
    SearchContext,
    new_leaves,
    new_memory,
    new_positions,
    search_kernels,
)
from playout.players.mcts.tree import (
    MAX_SIMULATIONS,
    ROOT,
    TREE,
    UNKNOWN,
    Tree,
    at,
    clear,
    compact,
    interpreted,
    new_tree,
    root_of,
)


@inlined
def goes_on(client: Any) -> bool:
    """Return whether the loop begins another round."""
    return True


@inlined
def next_search(tree: Tree, search: SearchContext, client: Any, number: int) -> bool:
    """Prepare the next search in a tree whose search has ended; return whether there is one."""
    return False


@inlined
def mover_into(board: Board, before: int) -> int:
    """Return the player for whom the results of the next node count: the one to move."""
    return board[0]


@inlined
def absorb(tree: Tree, search: SearchContext, n: int) -> bool:
    """Take the results of `n` leaves that waited: none, after playouts."""
    return True


def search_trees(tree: Tree, search: SearchContext, client: Any) -> int:
    """Run the simulations that are left for each tree, unless its root is proven before.

    `evaluate(n)` has the net evaluate the first `n` leaves, and sets their logits and
    values; the search ends if it returns 0. Each tree has the same share of the leaves. Returns the
    number of simulations.
    """
    kernels, positions, memory = search.kernels, search.positions, search.memory
    board, path, movers = positions.board, memory.path, memory.movers
    trees = len(tree.used)
    share, done = max(1, len(search.leaves.values) // trees), 0
    while goes_on(client):
        waiting, before = 0, done
        for number in range(trees):
            end = waiting + share
            start = positions.roots[number]
            while waiting < end:
                root = root_of(tree, number)
                ended = positions.left[number] <= 0 or at(tree, root).proof != UNKNOWN
                if ended and not next_search(tree, search, client, number):
                    break

                for i in range(len(board)):
                    board[i] = start[i]
                node, depth = root, 0
                path[0] = node
                movers[0] = 3 - board[0]
                while (
                    board[1] == 0
                    and at(tree, node).proof == UNKNOWN
                    and expand(tree, search, node, depth)
                ):
                    node = select_child(tree, search, node, movers[depth] == board[0])
                    depth += 1
                    path[depth] = node
                    movers[depth] = mover_into(board, movers[depth - 1])
                    kernels.play(board, np.int64(at(tree, node).action))
                memory.counters[DEPTH] = max(memory.counters[DEPTH], depth)

                result = evaluate_leaf(tree, search, number, waiting, depth)
                if result == TAKEN:
                    break
                positions.left[number] -= 1
                done += 1
                if result == WAITING:
                    waiting += 1
        if waiting > 0:
            if not absorb(tree, search, waiting):
                return before
        elif done == before:
            break
    return done


def signature_for(client: Any) -> Any:
    """Return the signature of `search_trees` for the type of a client."""
    return types.int64(TREE, SEARCH, client)


def search_with(name: str, module: str, **steps: Callable[..., Any]) -> Callable[..., int]:
    """Return the loop, compiled with the steps of a policy."""
    loop = given(search_trees, name, module, **steps)
    return compiled(signature_for(types.int64), allocates=False)(loop)


@functools.cache
def search_with_playouts() -> Callable[..., int]:
    """Return the loop of searches with playouts, compiled when it is first needed."""
    return search_with("search_with_playouts", __name__)


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


class Worker:
    """Runs simulations on a tree, and keeps its useful part when the match continues."""

    def __init__(
        self,
        game: Game,
        config: SearchConfig,
        seed: int,
        megabytes: float,
        neighbours: NDArray[np.int64] | None = None,
        placements: Placements | None = None,
        *,
        batch: int = 0,
        loop: Callable[..., int] | None = None,
    ) -> None:
        """Allocate the tree; `loop` is `search_trees`, compiled for a policy, by default playouts.

        Raises OSError, OverflowError or ValueError if the memory cannot be allocated.
        """
        self._rules = rules = rules_of(game)
        guided = config.selection.rule == PUCT
        loop = loop or search_with_playouts()
        self._loop = entry_point(loop) if rules.compiled else uncompiled(loop)
        self._evaluate = Callback(self._evaluate_leaves)
        heavy = rules.heavy if config.heavy else None
        # A decisive playout of two plies proves a loss only if both are moves of players.
        decisive = rules.decisive if config.decisive and not heavy else None
        decisive = None if game.has_chance else decisive
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
        #: Whether the selection visits all actions equally often, so that their means rank them.
        self.visits_evenly = selection.rule == FLAT
        board = rules.board(game.initial_state())
        self.memory = new_memory(game, len(board), seed, neighbours=neighbours, proofs=not guided)
        self._leaves = new_leaves(game, batch)
        self._positions = new_positions(board)
        self._search = SearchContext(
            search_kernels(rules, heavy or decisive),
            self._positions,
            self.memory,
            with_own_memory(placements or no_placements()),
            self._leaves,
            self.config,
            self._evaluate,
        )
        self.tree = new_tree(megabytes, amaf=selection.rule == RAVE, guide=guided)
        self._compiled_tree = self.tree if rules.compiled else interpreted(self.tree)
        #: Most nodes on a path with their siblings: a simulation adds no more rows.
        self._rows_per_simulation = (game.max_plies + 1) * game.num_actions
        self._stack = np.empty(min(len(self.tree.nodes), self._rows_per_simulation), dtype=np.int64)
        self._min_visits = 2  # visits of a node that keeps its children when the tree is full

    def reset(self, state: State, last: int = -1) -> None:
        """Start a new tree with `state` as its root, to which the action `last` led."""
        clear(self.tree)
        self.memory.proofs[:] = 0
        self._positions.last[0] = last
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
        root["average"] = root["value"] / 2 / root["visits"]  # a proof had replaced it
        if actions:
            self._positions.last[0] = actions[-1]
        self._set(state)
        return True

    def _set(self, state: State) -> None:
        self._positions.roots[0][:] = self._rules.board(state)
        self.memory.counters[DEPTH] = 0

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
        return int(self.memory.counters[DEPTH])

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
        self._positions.left[0] = count
        return self._loop(self._compiled_tree, self._search, 0)

    def _evaluate_leaves(self, n: int) -> None:
        """Evaluate the first `n` leaves: there are none after playouts."""

    @property
    def _full(self) -> bool:
        return bool(self.tree.used[0] + len(self.memory.actions) > len(self.tree.nodes))

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
