"""An evaluation of the positions of games with chance: a net with one hidden layer.

The kernel `inputs` of a game tells which inputs a position has, seen by the player who rolls next.
Few of them are not 0, so that the first layer is a sum of few rows of weights. The hidden units are
rectified (ReLU), and the logistic function of the output is the share of the points that the player
expects (Tesauro 1995, *Temporal difference learning and TD-Gammon*).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from playout.games import Board, Game, SpecError
from playout.games.core.kernels import compiled, inlined_helper
from playout.players.core.rules import Rules, type_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]

#: Hidden units of a new net; a power of two.
HIDDEN = 128


class Perceptron(NamedTuple):
    """The weights of a net."""

    inputs: Floats  # [input, hidden unit]
    hidden: Floats  # [hidden unit] added to the sum of each
    output: Floats  # [hidden unit], and behind them what is added to the sum


_V, _F = types.int64[::1], types.float32[::1]
PERCEPTRON = types.NamedTuple([types.float32[:, ::1], _F, _F], Perceptron)


class Activations(NamedTuple):
    """Working memory of an evaluation."""

    found: Ints  # the player, and the inputs that count
    hidden: Floats  # [hidden unit]
    products: Floats  # [hidden unit] times its weight in the output


ACTIVATIONS = types.NamedTuple([_V, _F, _F], Activations)


class ChanceKernels(NamedTuple):
    """The functions of a game with chance that its evaluation and its search call."""

    legal: Callable[..., int]
    play: Callable[..., None]
    chances: Callable[..., None]
    inputs: Callable[..., int]
    in_match: Callable[..., float]


CHANCE_KERNELS = type_of(ChanceKernels)


def kernels_of(game: Game, rules: Rules) -> ChanceKernels:
    """Return the kernels of a game. Raises SpecError for a game without a net's inputs."""
    if rules.inputs is None or rules.chances is None or rules.in_match is None:
        raise SpecError(
            f"{game} has no evaluation: it has no compiled rules with the kernel `inputs`"
        )
    return ChanceKernels(rules.legal, rules.play, rules.chances, rules.inputs, rules.in_match)


def new_perceptron(game: Game, seed: int | None = None) -> Perceptron:
    """Return a net before learning, which expects about half of the points everywhere."""
    rng = np.random.default_rng(seed)
    return Perceptron(
        rng.normal(0, 0.1, (game.num_inputs, HIDDEN)).astype(np.float32),
        np.zeros(HIDDEN, np.float32),
        np.append(rng.normal(0, 0.1, HIDDEN), 0).astype(np.float32),
    )


def new_activations(game: Game, net: Perceptron) -> Activations:
    """Return working memory for a net."""
    hidden = len(net.hidden)
    return Activations(
        np.zeros(game.most_inputs + 1, np.int64),
        np.zeros(hidden, np.float32),
        np.zeros(hidden, np.float32),
    )


@compiled(types.float64(PERCEPTRON, ACTIVATIONS, _V, types.int64), allocates=False)
def sum_of(net: Perceptron, memory: Activations, found: Ints, n: int) -> float:
    """Return the output for the inputs `found[1:n]`, before the logistic function."""
    hidden, products, inputs = memory.hidden, memory.products, net.inputs
    size = len(hidden)
    for unit in range(size):
        hidden[unit] = net.hidden[unit]
    at = 1
    while at + 3 < n:  # four rows at a time, as each sum is stored once for them
        one, two = np.uint64(found[at]), np.uint64(found[at + 1])
        three, four = np.uint64(found[at + 2]), np.uint64(found[at + 3])
        for unit in range(size):
            hidden[unit] += (inputs[one, unit] + inputs[two, unit]) + (
                inputs[three, unit] + inputs[four, unit]
            )
        at += 4
    while at < n:
        row = np.uint64(found[at])
        for unit in range(size):
            hidden[unit] += inputs[row, unit]
        at += 1
    for unit in range(size):
        products[unit] = max(np.float32(0), hidden[unit]) * net.output[unit]
    half = size
    while half > 1:  # halves are added, which are vectors
        half >>= 1
        for unit in range(half):
            products[unit] += products[unit + half]
    return products[0] + net.output[size]


@inlined_helper
def logistic(total: float) -> float:
    """Return the logistic function of a sum, from 0 to 1."""
    return 1 / (1 + math.exp(-total))


@compiled(types.float64(CHANCE_KERNELS, PERCEPTRON, ACTIVATIONS, _V), allocates=False)
def expected_by(
    kernels: ChanceKernels, net: Perceptron, memory: Activations, board: Board
) -> float:
    """Return the expected result of player 1 in a position, between -1 and 1."""
    n = kernels.inputs(board, memory.found)
    expected = 2 * logistic(sum_of(net, memory, memory.found, n)) - 1
    return kernels.in_match(board, expected if memory.found[0] == 1 else -expected)
