"""One tree and what it takes to grow it, by one thread at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games import Game, State
from games.core.kernels import uncompiled
from games.core.random import seeded
from players.core.rules import rules_of
from players.mcts.pruning import ROWS_A_SECOND, keep
from players.mcts.selection import FLAT, RAVE, Selection
from players.mcts.simulate import SearchConfig, new_buffers, run_simulations
from players.mcts.tree import MOST_SIMULATIONS, ROOT, UNKNOWN, apart, clear, interpreted, new_tree

#: How long the compiled search runs before it looks at the clock again: a share of the time left.
SLICE_S, LONGEST_SLICE_S, SLICE_SHARE = 0.001, 0.004, 0.125
#: A full tree is pruned after a multiple of so many simulations, whatever the clock says: a search
#: can be repeated.
ROUND = 4096
#: The share of the time left that tidying the tree may take.
TIDYING_SHARE = 0.1


class Worker:
    """Grows a tree from a state that it is set on, and keeps what it can when the match goes on."""

    def __init__(
        self,
        game: Game,
        how: Selection,
        plan: SearchConfig,
        seed: int,
        megabytes: float,
        around: NDArray[np.int64],
    ) -> None:
        """Raises OSError, OverflowError or ValueError if there is not so much memory."""
        self._rules = rules_of(game)
        self._grow = run_simulations if self._rules.compiled else uncompiled(run_simulations)
        self._how = how._replace(
            c=float(how.c), fpu=float(how.fpu), k=float(how.k), bias=float(how.bias)
        )
        #: Are all actions visited alike, so that their means say which is best?
        self.even = how.rule == FLAT
        self._plan = plan._replace(sharp=plan.sharp and self._rules.decisive is not None)
        self._rng = apart(seeded(seed))
        words = len(self._rules.board(game.initial_state()))
        self._scratch = new_buffers(game, around, words)
        self.tree = new_tree(megabytes, amaf=how.rule == RAVE)
        self._grown = self.tree if self._rules.compiled else interpreted(self.tree)
        #: As many nodes as there can be on a path and beside it: a simulation adds no more.
        self._widest = (game.max_plies + 1) * game.num_actions
        self._stack = np.empty(min(len(self.tree.nodes), self._widest), dtype=np.int64)
        self._least = 2  # visits of a node that keeps its children when the tree is full
        self._root: Any = None
        self._board: Any = None

    def begin(self, state: State) -> None:
        """Start a new tree there."""
        clear(self.tree)
        self._scratch.proofs[:] = 0
        self._least = 2
        self._set(state)

    def follow(self, actions: Sequence[int], state: State, seconds: float) -> bool:
        """Keep the subtree that `actions` lead to, as `state`; False if that is not to be had.

        Nor if it would take a large part of so many seconds.
        """
        row = self.find(actions)
        if row is None or not self._tidy(row, 0, seconds):
            return False
        root = self.tree.nodes[ROOT]
        root["proof"] = UNKNOWN  # it is proven again by its children, one of which can be played
        root["visits"] = max(1, root["visits"])
        self._set(state)
        return True

    def _set(self, state: State) -> None:
        self._root, self._board = self._rules.board(state), self._rules.board(state)
        if self._rules.compiled:
            self._board = apart(self._board)
        self._scratch.tally[1] = 0

    def find(self, actions: Sequence[int], row: int = ROOT) -> int | None:
        """The row that `actions` lead to."""
        for action in actions:
            children = self.children(row)
            found = np.flatnonzero(self.tree.nodes["action"][children] == action)
            if not len(found):
                return None
            row = children.start + int(found[0])
        return row

    @property
    def complete(self) -> bool:
        """Has every action of the root been tried?"""
        root = self.tree.nodes[ROOT]
        return bool(root["tried"] == root["children"])

    def children(self, row: int) -> slice:
        """The rows of a node's children."""
        node = self.tree.nodes[row]
        first = int(node["first_child"])
        return slice(first, first + int(node["width"]))

    @property
    def depth(self) -> int:
        """How far below the root the tree has been."""
        return int(self._scratch.tally[1])

    @property
    def proven(self) -> bool:
        """Is the value of the root known?"""
        return bool(self.tree.nodes[ROOT]["proof"] != UNKNOWN)

    def think(self, most: int, deadline: float, halt: Callable[[int], bool]) -> int:
        """Simulate until the root is proven, or the number, the time or `halt` says stop.

        `halt` is asked after each slice, and told how many simulations are still to come at most.
        At least one is run. Returns how many were.
        """
        most = min(most, MOST_SIMULATIONS - int(self.tree.nodes[ROOT]["visits"]))
        now, count, done = time.perf_counter(), 1, 0
        while done == 0 or (done < most and now < deadline):
            done += self._simulate(count)
            if self.proven:
                break
            before, now = now, time.perf_counter()
            rate = count / max(now - before, 1e-7)
            left = most - done
            if now - before > SLICE_S / 2:  # in less, calling takes longer than searching
                left = min(left, int(min(rate * max(0.0, deadline - now), MOST_SIMULATIONS)))
            if halt(left):
                break
            if self._full and done % ROUND == 0:
                self._prune(deadline - now)
                now = time.perf_counter()
            left_s = max(0.0, deadline - now)
            slice_s = min(max(SLICE_S, SLICE_SHARE * left_s), LONGEST_SLICE_S, left_s)
            in_time = int(rate * slice_s)
            count = max(1, min(2 * count, in_time, most - done))
            if self.tree.used[0] + count * self._widest > len(self.tree.nodes):  # it may get full
                count = min(count, ROUND - done % ROUND)
        return done

    def _simulate(self, count: int) -> int:
        rules = self._rules
        return self._grow(
            self._grown,
            self._root,
            self._board,
            rules.legal,
            rules.play,
            (rules.decisive if self._plan.sharp else None) or rules.playout,
            rules.key,
            self._rng,
            self._scratch,
            self._how,
            self._plan,
            count,
        )

    @property
    def _full(self) -> bool:
        return bool(self.tree.used[0] + len(self._scratch.actions) > len(self.tree.nodes))

    def _prune(self, seconds: float) -> None:
        """Make room, if there is time: nodes that were visited little lose their children."""
        while self._tidy(ROOT, self._least, seconds):
            if self.tree.used[0] < len(self.tree.nodes) // 2:
                break
            self._least *= 2

    def _tidy(self, row: int, least: int, seconds: float) -> bool:
        """Compact the tree, if that takes no large part of the time there is."""
        if self.tree.used[0] / ROWS_A_SECOND > TIDYING_SHARE * seconds:
            return False
        keep(self.tree, row, least, self._stack)
        return True
