"""Lines of discs in words of bits, eight per row: moves and turned discs of Othello up to 8x8."""

from __future__ import annotations

import numpy as np

from games.core.kernels import helper

_0 = np.uint64(0)
#: The step in each direction, and the cells that a line may cross without leaving its row.
_STEPS = tuple(np.uint64(step) for step in (1, 8, 7, 9))
_INNER = np.uint64(0x7E7E7E7E7E7E7E7E)


@helper
def run_up(begin: np.uint64, crossed: np.uint64, step: np.uint64) -> np.uint64:
    """Return the `crossed` discs that follow `begin` without a gap, towards the higher bits.

    Parallel prefix: the first two lines find runs of two; each later line adds two more.
    """
    run = crossed & begin << step
    run |= crossed & run << step
    pairs = crossed & crossed << step
    run |= pairs & run << (step + step)
    run |= pairs & run << (step + step)
    return run


@helper
def run_down(begin: np.uint64, crossed: np.uint64, step: np.uint64) -> np.uint64:
    """Return what `run_up` returns, but towards the lower bits."""
    run = crossed & begin >> step
    run |= crossed & run >> step
    pairs = crossed & crossed >> step
    run |= pairs & run >> (step + step)
    run |= pairs & run >> (step + step)
    return run


@helper
def line_moves(own: np.uint64, crossed: np.uint64, step: np.uint64) -> np.uint64:
    """Return the cells at the end of a run of `crossed` next to `own`, in both directions."""
    return run_up(own, crossed, step) << step | run_down(own, crossed, step) >> step


@helper
def mobility(own: np.uint64, other: np.uint64, cells: np.uint64) -> np.uint64:
    """Return the cells where `own` may put a disc."""
    inner = other & _INNER
    moves = line_moves(own, inner, _STEPS[0])
    moves |= line_moves(own, other, _STEPS[1])
    moves |= line_moves(own, inner, _STEPS[2])
    moves |= line_moves(own, inner, _STEPS[3])
    return moves & cells & ~(own | other)


@helper
def line_flips(disc: np.uint64, own: np.uint64, crossed: np.uint64, step: np.uint64) -> np.uint64:
    """Return the discs between `disc` and the nearest of `own`, both ways along `step`."""
    up = run_up(disc, crossed, step)
    down = run_down(disc, crossed, step)
    if up << step & own == _0:
        up = _0
    if down >> step & own == _0:
        down = _0
    return up | down


@helper
def flips(disc: np.uint64, own: np.uint64, other: np.uint64) -> np.uint64:
    """Return the discs that change sides when `own` puts `disc`."""
    inner = other & _INNER
    return (
        line_flips(disc, own, inner, _STEPS[0])
        | line_flips(disc, own, other, _STEPS[1])
        | line_flips(disc, own, inner, _STEPS[2])
        | line_flips(disc, own, inner, _STEPS[3])
    )
