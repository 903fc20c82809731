"""Random numbers and shuffled playouts for compiled code.

The numbers are those of SplitMix64 (Steele, Lea & Flood 2014, OOPSLA, figure 16).

A generator is a `uint64` array of one element. Its state advances by an addition, so that the
processor can compute successive numbers in parallel; a playout keeps the state in a local variable
and stores it once, at the end.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from playout.games.core.kernels import Board, Vector, compiled, helper, inlined, inlined_helper

Rng = NDArray[np.uint64]

GAMMA = np.uint64(0x9E3779B97F4A7C15)
_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _32 = (np.uint64(n) for n in (30, 27, 31, 32))


def seeded(seed: int) -> Rng:
    """Return a new generator; equal seeds give equal numbers."""
    return np.array([seed & 0xFFFFFFFFFFFFFFFF], dtype=np.uint64)


@helper
def below(state: np.uint64, n: int) -> int:
    """Return a number from 0 to n - 1 for a generator state; the caller adds GAMMA to the state.

    Multiplies instead of dividing (Lemire 2019); for n < 2**16 the bias is under 2**-16.
    """
    z = (state ^ (state >> _30)) * _M1
    z = (z ^ (z >> _27)) * _M2
    z = z ^ (z >> _31)
    return np.int64(((z >> _32) * np.uint64(n)) >> _32)  # type: ignore[return-value]


#: A multiple of every number up to 6.
DRAWN = 60


def _bits() -> Iterator[int]:
    """Yield for each number below DRAWN and each set of up to six bits one of them."""
    for number, cells in itertools.product(range(DRAWN), range(64)):
        there = [bit for bit in range(6) if cells >> bit & 1] or [0]
        yield there[number % len(there)]


_BITS = np.fromiter(_bits(), dtype=np.uint8)


@helper
def one_of(cells: int, drawn: int) -> int:
    """Return the index of a random bit that is set, from 0 to 5.

    `drawn` is a random number below DRAWN, whatever the number of bits: a playout can draw it
    before it knows them.
    """
    return np.int64(_BITS[drawn << 6 | cells])  # type: ignore[return-value]


@inlined_helper
def exchange(trace: Vector, ply: int, pick: int) -> int:
    """Exchange two actions of a trace, and return the one that is now at `ply`."""
    action = trace[pick]
    trace[pick] = trace[ply]
    trace[ply] = action
    return action


@inlined
def shuffled_playout(
    board: Board,
    rng: Rng,
    trace: Vector,
    ply: int,
    end: int,
    put: Callable[[Board, int, int], bool],
) -> int:
    """Play the actions from `ply` to `end` of `trace` in random order until one wins.

    The players alternate. `put(board, player, action)` puts a stone and returns whether it wins.
    Returns where the actions that were played end. Without a winner, the outcome stays as it was.
    """
    player, state = board[0], rng[0]
    while ply < end:
        state += GAMMA
        pick = ply + below(state, end - ply)
        action = exchange(trace, ply, pick)
        ply += 1
        won = put(board, player, action)
        player = 3 - player
        if won:
            board[1] = 3 - player
            break
    rng[0] = state
    board[0] = player
    return ply


@compiled("int64(uint64[::1], int64)")
def draw(rng: Rng, n: int) -> int:
    """Return a number from 0 to n - 1, and advance the generator in place."""
    rng[0] += GAMMA
    return below(rng[0], n)
