"""games.core.kernels: compiled functions, and how they are given to each other."""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np
import pytest
from numba import types
from numba.core import ir

from playout.games import Vector
from playout.games.core.kernels import Pointer, compiled, given, helper, inlined, uncompiled


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


_UNARY = types.FunctionType(types.int64(types.int64))


@compiled("int64(int64)", allocates=False)
def tripled(number: int) -> int:
    return 3 * number


@compiled(types.int64(_UNARY, types.int64), allocates=False)
def twice(function: Callable[[int], int], number: int) -> int:
    return function(function(number))


@inlined
def step(number: int) -> int:
    return number + 1


@inlined
def long_step(number: int) -> int:
    return number + 10


def walk(number: int, steps: int) -> int:
    for _ in range(steps):
        number = step(number)
    return number


walk_far = compiled("int64(int64, int64)")(given(walk, "walk_far", __name__, step=long_step))
walk_near = compiled("int64(int64, int64)")(given(walk, "walk_near", __name__))


def test_a_pointer_is_called_like_its_function() -> None:
    pointer = Pointer(tripled)
    assert pointer(5) == twice(tripled, 5) // 3 == twice(pointer, 5) // 3 == 15


def test_copies_of_a_loop_call_the_functions_that_they_are_given() -> None:
    assert (walk_near(1, 3), walk_far(1, 3)) == (4, 31)
    assert (uncompiled(walk_near)(1, 3), uncompiled(walk_far)(1, 3)) == (4, 31)
    assert walk.__globals__["step"] is step


def test_numba_still_copies_the_variables_of_inlined_functions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copied: set[object] = set()
    monkeypatch.setattr(ir.Var, "__deepcopy__", lambda self, memo: copied.add(self) or self)
    assert numba.njit("int64(int64, int64)")(walk)(1, 3) == 4
    assert {str(variable) for variable in copied} >= {"number"}
