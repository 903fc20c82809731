"""Sets of cells as the bits of words: the operations that games share, for compiled code.

A word is int64 or uint64; `without_lowest` is for int64 only, and `spread` for uint64 only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.cpython.unsafe.numbers import trailing_zeros
from numba.extending import intrinsic

from playout.games.core.kernels import Board, Vector, helper, kernel

_1, _8 = np.uint64(1), np.uint64(8)
_LEFT, _RIGHT = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)


@helper
def lowest(cells: int | np.uint64) -> int:
    """Return the index of the lowest bit that is set."""
    return np.int64(trailing_zeros(cells))  # type: ignore[return-value]


@helper
def without_lowest(cells: int) -> int:
    """Return the cells without the lowest one."""
    return cells & (cells - 1)


@helper
def count(cells: int | np.uint64) -> int:
    """Return the number of bits that are set; compiled to one instruction."""
    n = 0
    rest = np.uint64(cells)
    while rest:
        rest &= rest - _1
        n += 1
    return n


#: Whether the processor has a fast instruction that spreads bits; the first Zen processors have one
#: that is slower than a loop.
SPREADS = bool(binding.get_host_cpu_features().get("bmi2")) and (
    binding.get_host_cpu_name() not in ("znver1", "znver2")
)


@intrinsic  # type: ignore[untyped-decorator]
def _spread_bits(typing: Any, bits: Any, places: Any) -> Any:
    """Deposit the lowest bits of `bits` at the set bits of `places` (pdep)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        function = builder.module.declare_intrinsic(
            "llvm.x86.bmi.pdep.64", fnty=ir.FunctionType(word, [word, word])
        )
        return builder.call(function, arguments)

    return types.uint64(types.uint64, types.uint64), generate


@helper
def nth(cells: int | np.uint64, n: int) -> int:
    """Return the index of the n-th bit that is set; both count from 0."""
    rest = np.uint64(cells)
    if SPREADS:
        rest = _spread_bits(_1 << np.uint64(n), rest)
    else:
        for _ in range(n):
            rest &= rest - _1
    return np.int64(trailing_zeros(rest))  # type: ignore[return-value]


@helper
def write_bits(cells: int | np.uint64, first: int, actions: Vector, n: int) -> int:
    """Write `first` plus the index of each bit that is set to actions[n:]; return the new n."""
    rest = np.uint64(cells)
    while rest:
        actions[n] = first + lowest(rest)
        rest &= rest - _1
        n += 1
    return n


# Boards with eight bits a row, for every number of columns up to eight.


@helper
def bit_of(cell: int, columns: int) -> int:
    """Return the bit index of a cell."""
    return cell if columns == 8 else cell // columns * 8 + cell % columns


@helper
def cell_of(bit: int, columns: int) -> int:
    """Return the cell of a bit, both counted from 0."""
    return (bit >> 3) * columns + (bit & 7)


@helper
def grid(rows: int, columns: int) -> int:
    """Return all cells of a grid."""
    cells = 0
    for row in range(rows):
        cells |= (1 << columns) - 1 << 8 * row
    return cells


@helper
def spread(cells: np.uint64) -> np.uint64:
    """Return the cells and all beside them, in the eight directions."""
    rows = cells | (cells & ~_RIGHT) << _1 | (cells & ~_LEFT) >> _1
    return rows | rows << _8 | rows >> _8


# The cells of a state.


@helper
def write_owners(first: int, second: int, columns: int, stride: int, cells: Vector) -> None:
    """Write the number of the player on each cell, row by row, 0 for none.

    `first` and `second` have the pieces of the players; a row of cells takes `stride` bits.
    """
    for row in range(len(cells) // columns):
        for column in range(columns):
            bit = row * stride + column
            cells[row * columns + column] = (first >> bit & 1) + 2 * (second >> bit & 1)


@helper
def read_owners(cells: Vector, columns: int, stride: int) -> tuple[int, int]:
    """Return the pieces of player 1 and of player 2; the reverse of `write_owners`."""
    first = second = 0
    for row in range(len(cells) // columns):
        for column in range(columns):
            owner, bit = cells[row * columns + column], 1 << row * stride + column
            if owner == 1:
                first |= bit
            elif owner == 2:
                second |= bit
    return first, second


def owners_codec(
    bits: Iterable[int],
) -> tuple[Callable[[Board, Vector], None], Callable[[Vector, Board], None]]:
    """Return the kernels `write` and `read` of a game whose board is two sets of cells.

    The board is the player to move, the outcome, and the pieces of player 1 and of player 2; the
    state has the number of the player on each cell instead. `bits` has the bit of each cell.
    """
    bit_of = np.array([*bits])

    @kernel
    def write(board: Board, state: Vector) -> None:
        state[:2] = board[:2]
        for cell in range(len(bit_of)):
            bit = bit_of[cell]
            state[2 + cell] = (board[2] >> bit & 1) + 2 * (board[3] >> bit & 1)

    @kernel
    def read(state: Vector, board: Board) -> None:
        board[:2] = state[:2]
        board[2] = board[3] = 0
        for cell in range(len(bit_of)):
            owner = state[2 + cell]
            if owner == 1 or owner == 2:
                board[1 + owner] |= 1 << bit_of[cell]

    return write, read
