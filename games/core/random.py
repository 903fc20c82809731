"""Random numbers for compiled code: SplitMix64 (Steele, Lea & Flood 2014, OOPSLA, figure 16).

A generator is a `uint64` array of one element. Its state advances by an addition, so that the
processor can compute successive numbers in parallel; a playout keeps the state in a local variable
and stores it once, at the end.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from playout.games.core.kernels import compiled, helper

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


def _bits() -> Iterator[int]:
    """Yield, for each set of up to six bits and each number up to 63, a bit: number modulo size."""
    for cells in range(64):
        there = [bit for bit in range(6) if cells >> bit & 1] or [0]
        yield from (there[n % len(there)] for n in range(64))


_BITS = np.fromiter(_bits(), dtype=np.uint8)


@helper
def one_of(cells: int, state: np.uint64) -> int:
    """Return the number of a random bit that is set, from 0 to 5, for a generator state.

    The random number does not depend on the bits, since 60 is a multiple of every number of them:
    so it is known before they are, which makes a playout faster.
    """
    return np.int64(_BITS[cells << 6 | below(state, 60)])  # type: ignore[return-value]


@compiled("int64(uint64[::1], int64)")
def draw(rng: Rng, n: int) -> int:
    """Return a number from 0 to n - 1, and advance the generator in place."""
    rng[0] += GAMMA
    return below(rng[0], n)
