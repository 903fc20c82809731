"""A search tree whose leaves a net evaluates, used by one thread at a time."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numba import types
from numpy.typing import NDArray

from playout.games import Game, State
from playout.games.core.kernels import uncompiled
from playout.players.mcts.puct_simulation import new_net_buffers, run_simulations_with_net
from playout.players.mcts.tree import GUIDE, MAX_SIMULATIONS, ROOT
from playout.players.mcts.uct_simulation import SearchConfig
from playout.players.mcts.uct_worker import PRUNING_INTERVAL, SLICE_S, Worker
from playout.players.nets.encoding import Encoding

_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)


class Callback(types.WrapperAddressProtocol):  # type: ignore[misc]
    """A Python function of a whole number that compiled code calls, once for a batch of leaves.

    It returns 1, or 0 if the function raised an exception. No exception passes through compiled
    code: `raise_error` raises it again.
    """

    def __init__(self, function: Callable[[int], None]) -> None:
        self._function = function
        self._error: BaseException | None = None
        self._pointer = _PROTOTYPE(self)

    def __call__(self, n: int) -> int:
        try:
            self._function(n)
        except BaseException as error:  # Ctrl-C, too
            self._error = error
            return 0
        return 1

    def raise_error(self) -> None:
        """Raise the exception of the last call, if any."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def __wrapper_address__(self) -> int:
        return ctypes.cast(self._pointer, ctypes.c_void_p).value or 0

    def signature(self) -> object:
        """Return the signature by which compiled code calls the function."""
        return types.int64(types.int64)


class Evaluator(Protocol):
    """A net, or anything else that evaluates positions."""

    def evaluate(
        self, planes: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return logits [n, action] and values [n] for planes [n, plane, row, column]."""


class _OutOfTime(Exception):
    """Ends a search between two batches."""


class NetWorker(Worker):
    """Runs simulations on a tree, in batches of leaves that a net evaluates at once."""

    def __init__(
        self,
        game: Game,
        net: Evaluator,
        batch: int,
        config: SearchConfig,
        seed: int,
        megabytes: float,
    ) -> None:
        """Allocate the tree. Raises OSError, OverflowError or ValueError if that fails."""
        super().__init__(game, config, seed, megabytes, np.empty(0, dtype=np.int64))
        self._net = net
        self._encoding = Encoding(game)
        self._run = (
            run_simulations_with_net
            if self._rules.compiled
            else uncompiled(run_simulations_with_net)
        )
        board = self._rules.board(game.initial_state())
        self._net_buffers = new_net_buffers(game, board, batch, seed)
        self._planes = np.zeros((batch, *self._encoding.shape), dtype=np.float32)
        self._callback = Callback(self._evaluate)
        self._check: Callable[[int], None] = lambda _: None
        self._last = -1  # the action that led to the root, or -1
        #: Called with the legal actions of the root and all logits, which it may change.
        self.at_root: Callable[[NDArray[np.int64], NDArray[np.float32]], None] | None = None

    def reset(self, state: State, last: int = -1) -> None:
        super().reset(state)
        self._last = last
        self.tree.nodes[ROOT]["visits"] = 0  # its own evaluation is its first visit
        self.tree.guide[ROOT] = np.zeros((), GUIDE)

    def advance(self, actions: Sequence[int], state: State, seconds: float) -> bool:
        if not super().advance(actions, state, seconds):
            return False
        self._last = actions[-1] if actions else self._last
        root = self.tree.nodes[ROOT]
        root["average"] = root["value"] / 2 / root["visits"]  # a proof had replaced it
        return True

    @property
    def depth(self) -> int:
        return int(self._net_buffers.depth[0])

    def search(self, simulations: int, deadline: float, halt: Callable[[int], bool]) -> int:
        """Run simulations as `Worker.search` does; `halt` is called between batches."""
        self._net_buffers.depth[0] = 0
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
                self._callback.raise_error()
            except _OutOfTime:
                break
            now = time.perf_counter()
            if now >= deadline or halt(simulations - done):
                break
            if self._full:
                self._prune(deadline - now)
        return done

    def _simulate(self, count: int) -> int:
        return self._run(
            self._compiled_tree,
            self._root,
            self._last,
            self._kernels,
            self._callback,
            self._net_buffers,
            self.config,
            count,
        )

    def _evaluate(self, n: int) -> None:
        """Evaluate the first `n` leaves by the net, unless the time is over."""
        self._check(n)
        leaves, planes = self._net_buffers.leaves, self._planes[:n]
        self._encoding.encode_into(
            leaves.states[:n], leaves.last[:n], planes, (leaves.legal[:n], leaves.moves[:n])
        )
        leaves.logits[:n], leaves.values[:n] = self._net.evaluate(planes)
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
