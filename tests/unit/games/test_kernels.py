"""games.core.kernels: helpers are compiled once, and also for Python."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from numba import types

from playout.games import Vector
from playout.games.core.kernels import compiled, helper


@helper
def doubled(number: int) -> int:
    return 2 * number


@compiled(types.void(types.int64[::1], types.int64))
def copy_to_start(vector: Vector, end: int) -> None:
    vector[:2] = vector[2:end]


def test_a_helper_is_compiled_once_for_all_constants() -> None:
    @numba.njit("int64(int64)")  # type: ignore[untyped-decorator]
    def sum_of_doubles(number: int) -> int:
        return doubled(number) + doubled(3)

    assert sum_of_doubles(4) == 14
    assert [*doubled.overloads] == [(types.int64,)]  # type: ignore[attr-defined]


def test_python_can_call_a_helper() -> None:
    assert (doubled(5), doubled(2.5)) == (10, 5.0)


def test_slices_of_different_lengths_are_an_error() -> None:
    vector = np.arange(6)
    copy_to_start(vector, 4)
    assert vector.tolist() == [2, 3, 2, 3, 4, 5]
    with pytest.raises(ValueError, match="different size"):
        copy_to_start(vector, 5)
