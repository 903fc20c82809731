"""Search guided by a net: the leaves wait for the net, and come back in batches.

Compiled code collects the leaves of many simulations, Python has the net evaluate them all at once,
and compiled code expands them. While a leaf waits, each node on its path counts as lost once more,
so that the next simulations go elsewhere (virtual loss: Chaslot, Winands & van den Herik 2008).
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from playout.games import Game
from playout.games.core.kernels import inlined
from playout.players.mcts.search import (
    PRUNING_INTERVAL,
    SLICE_S,
    Worker,
    search_with,
)
from playout.players.mcts.selection import by_puct
from playout.players.mcts.simulation import (
    DEPTH,
    KNOWN,
    NO_ACTION,
    TAKEN,
    WAITING,
    Leaves,
    SearchConfig,
    SearchContext,
    back_up,
    outcome_of,
    proof_of,
    set_proven,
)
from playout.players.mcts.tree import (
    MAX_SIMULATIONS,
    ROOT,
    UNKNOWN,
    WIN,
    Tree,
    clear_node,
    root_of,
)


@inlined
def expand(tree: Tree, search: SearchContext, node: int, depth: int) -> bool:
    """Return whether the net has expanded a node."""
    return bool(tree.nodes[node].children > 0)


@inlined
def select_child(tree: Tree, search: SearchContext, node: int, again: bool) -> int:
    """Return the row of the child to visit next."""
    return by_puct(tree, node, again, search.config.selection)


@inlined
def evaluate_leaf(tree: Tree, search: SearchContext, number: int, leaf: int, depth: int) -> int:
    """Back up the result at the end of the path, if it is known; if not, it waits as row `leaf`."""
    kernels, positions, memory = search.kernels, search.positions, search.memory
    board, path, movers, leaves = positions.board, memory.path, memory.movers, search.leaves
    node, outcome, win = path[depth], board[1], NO_ACTION
    if tree.nodes[node].proof != UNKNOWN:
        outcome = outcome_of(tree.nodes[node].proof, movers[depth])
    elif outcome == 0:
        if tree.guide[node].pending > 0:
            return TAKEN
        win = winning_action(search)
        if depth > 0 and win != NO_ACTION:  # a root needs children
            outcome = board[0] if win >= 0 else 3 - board[0]
    if outcome != 0:
        if search.config.solver and tree.nodes[node].proof == UNKNOWN:
            set_proven(tree, node, proof_of(outcome, movers[depth]))
        points = np.float32(0.5) if outcome < 0 else np.float32(1.0)
        back_up(tree, memory, depth, abs(outcome), points)
        return KNOWN

    leaves.tree[leaf] = number
    leaves.last[leaf] = np.int64(tree.nodes[node].action) if depth > 0 else positions.last[number]
    leaves.player[leaf] = board[0]
    leaves.win[leaf] = win
    leaves.depth[leaf] = depth
    kernels.write(board, leaves.states[leaf])
    count = kernels.legal(board, memory.actions)
    leaves.moves[leaf] = count
    for i in range(count):
        leaves.legal[leaf, i] = memory.actions[i]
    for i in range(depth + 1):
        leaves.path[leaf, i] = path[i]
        leaves.movers[leaf, i] = movers[i]
        tree.guide[path[i]].pending += 1
    return WAITING


@inlined
def winning_action(search: SearchContext) -> int:
    """Play a decisive playout on a copy of the board; return an action that wins at once.

    Returns -2 if the opponent wins in two plies, and -1 if nothing is proven.
    """
    found = NO_ACTION
    if search.config.decisive:
        board, probe, trace = search.positions.board, search.positions.probe, search.memory.trace
        for i in range(len(board)):
            probe[i] = board[i]
        plies = search.kernels.playout(probe, search.memory.rng, trace)
        if plies == 1 and probe[1] == board[0]:
            found = int(trace[0])
        elif plies == 2 and probe[1] == 3 - board[0]:
            found = -2
    return found


@inlined
def expand_by_net(tree: Tree, leaves: Leaves, leaf: int) -> None:
    """Add the children of a leaf, with the policy's probabilities, unless its tree is full."""
    nodes, number, n, logits = tree.nodes, leaves.tree[leaf], leaves.moves[leaf], leaves.logits
    node = leaves.path[leaf, leaves.depth[leaf]]
    first = tree.used[number]
    if first + n > root_of(tree, number + 1):
        return
    highest = np.float32(-np.inf)
    for i in range(n):
        highest = max(highest, logits[leaf, leaves.legal[leaf, i]])
    total = np.float32(0.0)
    for i in range(n):
        child, action = first + i, leaves.legal[leaf, i]
        clear_node(tree, child)
        nodes[child].action = action
        weight = np.float32(math.exp(logits[leaf, action] - highest))
        total += weight
        tree.guide[child].prior = weight
        tree.guide[child].pending = 0
        tree.guide[child].tie = 0
    for i in range(n):
        tree.guide[first + i].prior /= total
    nodes[node].first_child = first
    nodes[node].children = n
    nodes[node].width = n
    nodes[node].tried = n
    tree.used[number] = first + n


@inlined
def prove_win(tree: Tree, node: int, action: int) -> None:
    """Set the child of `action` to a proven win, which proves the node."""
    first = np.int64(tree.nodes[node].first_child)
    for child in range(first, first + tree.nodes[node].width):
        if tree.nodes[child].action == action:
            set_proven(tree, child, WIN)
            set_proven(tree, node, -WIN)


@inlined
def absorb(tree: Tree, search: SearchContext, n: int) -> bool:
    """Have the first `n` leaves evaluated; expand them by the policy, and back the values up.

    Returns whether they were evaluated. If not, they are forgotten.
    """
    memory, leaves = search.memory, search.leaves
    evaluated = search.evaluate(n) != 0
    for leaf in range(n):
        depth = leaves.depth[leaf]
        for i in range(depth + 1):
            memory.path[i] = leaves.path[leaf, i]
            memory.movers[i] = leaves.movers[leaf, i]
            tree.guide[memory.path[i]].pending -= 1
        if evaluated:
            expand_by_net(tree, leaves, leaf)
            points = np.float32(0.5) + np.float32(0.5) * leaves.values[leaf]
            if leaves.win[leaf] >= 0:
                points = np.float32(1.0)
                if search.config.solver:
                    prove_win(tree, memory.path[0], leaves.win[leaf])
            back_up(tree, memory, depth, leaves.player[leaf], points)
    return evaluated


#: What the loop of a search with a net is given.
WITH_NET: Mapping[str, Callable[..., Any]] = {
    "expand": expand,
    "select_child": select_child,
    "evaluate_leaf": evaluate_leaf,
    "absorb": absorb,
}


@functools.cache
def search_with_net() -> Callable[..., int]:
    """Return the loop of searches with a net, compiled when it is first needed."""
    return search_with("search_with_net", __name__, **WITH_NET)


#: Sets the logits and the values of the first leaves, as many as it is told.
EvaluateLeaves = Callable[[Leaves, int], None]


class Evaluator(Protocol):
    """A net, or anything else that evaluates positions."""

    def evaluate(
        self, planes: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return logits [n, action] and values [n] for planes [n, plane, row, column]."""


def by_planes(game: Game, net: Evaluator, batch: int) -> EvaluateLeaves:
    """Return a function that has a net evaluate up to `batch` leaves as planes."""
    from playout.players.nets.encoding import Encoding  # compiled when it is needed

    encoding = Encoding(game)
    room = np.zeros((batch, *encoding.shape), dtype=np.float32)

    def evaluate(leaves: Leaves, n: int) -> None:
        planes, legal = room[:n], (leaves.legal[:n], leaves.moves[:n])
        encoding.encode_into(leaves.states[:n], leaves.last[:n], planes, legal)
        leaves.logits[:n], leaves.values[:n] = net.evaluate(planes)

    return evaluate


class _OutOfTime(Exception):
    """Ends a search between two batches."""


class NetWorker(Worker):
    """Runs simulations on a tree, in batches of leaves that a net evaluates at once."""

    def __init__(
        self,
        game: Game,
        evaluate: EvaluateLeaves,
        batch: int,
        config: SearchConfig,
        seed: int,
        megabytes: float,
        *,
        loop: Callable[..., int] | None = None,
    ) -> None:
        """Allocate the tree; `loop` is that of a policy with nets, by default `search_with_net`.

        Raises OSError, OverflowError or ValueError if the memory cannot be allocated.
        """
        loop = loop or search_with_net()
        super().__init__(game, config, seed, megabytes, batch=batch, loop=loop)
        self._set_logits_and_values = evaluate
        self._check: Callable[[int], None] = lambda _: None
        #: Called with the legal actions of the root and all logits, which it may change.
        self.at_root: Callable[[NDArray[np.int64], NDArray[np.float32]], None] | None = None

    def search(self, simulations: int, deadline: float, halt: Callable[[int], bool]) -> int:
        """Run simulations as `Worker.search` does; `halt` is called between batches."""
        self.memory.counters[DEPTH] = 0
        simulations = min(simulations, MAX_SIMULATIONS - int(self.tree.nodes[ROOT]["visits"]))
        started, done, evaluated, batch_s = time.perf_counter(), 0, 0, 0.0
        checked = before = started

        def check(n: int) -> None:
            nonlocal evaluated, checked, before, batch_s
            now = time.perf_counter()
            if evaluated:
                batch_s = max(now - before, 0.9 * batch_s)
                left = simulations - done - evaluated
                in_time = evaluated / (now - started) * max(0.0, deadline - now)
                if now + batch_s > deadline:
                    raise _OutOfTime
                if now - checked > SLICE_S:
                    checked = now
                    if halt(int(min(left, in_time))):
                        raise _OutOfTime
            before = now
            evaluated += n

        self._check = check
        while done < simulations and not self.proven:
            evaluated = 0 if done == 0 else evaluated
            done += self._simulate(min(simulations - done, PRUNING_INTERVAL))
            try:
                self._evaluate.raise_error()
            except _OutOfTime:
                break
            now = time.perf_counter()
            if now >= deadline or halt(simulations - done):
                break
            if self._full:
                self._prune(deadline - now)
        return done

    def _evaluate_leaves(self, n: int) -> None:
        """Evaluate the first `n` leaves by the net, unless the time is over."""
        self._check(n)
        leaves = self._leaves
        self._set_logits_and_values(leaves, n)
        if self.at_root is not None and leaves.depth[0] == 0:
            legal = leaves.legal[0, : leaves.moves[0]]
            self.at_root(legal, leaves.logits[0])


def policy_of(logits: NDArray[np.float32], legal: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the probabilities of the legal actions, in their order; `logits` is [action]."""
    weights = np.exp(logits[legal] - logits[legal].max())
    return weights / weights.sum()


def add_noise(
    logits: NDArray[np.float32],
    legal: NDArray[np.int64],
    weight: float,
    concentration: float,
    rng: np.random.Generator,
) -> None:
    """Mix Dirichlet noise into the policy of the legal actions (Silver et al. 2017).

    With it, self-play tries actions that the net rates low. `logits` [action] are changed in place;
    `weight` is the share of the noise, from 0 to 1. Each of n legal actions has the parameter
    alpha = concentration / n.
    """
    policy = policy_of(logits, legal)
    noise = rng.dirichlet(np.full(len(legal), concentration / len(legal)))
    logits[legal] = np.log((1 - weight) * policy + weight * noise + 1e-9)
