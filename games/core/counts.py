"""Counts in a state: the seeds in pits and the chips in heaps."""

from __future__ import annotations

from games.core.kernels import Vector, helper


@helper
def read_counts(numbers: Vector, counts: Vector, most: int) -> None:
    """Set `counts` to the numbers of a state, which together are at most `most`.

    In an invalid state, negative numbers and what exceeds `most` are left out: playouts from there
    end as early as from any other position.
    """
    left = most
    for i in range(len(counts)):
        counts[i] = min(max(0, numbers[i]), left)
        left -= counts[i]
