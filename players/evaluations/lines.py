"""Evaluations along a line of positions, each from the differences to the one before.

A move changes few cells, and a cell is in few groups: only the weights of these groups are
exchanged in the sum. There is a sum for each player to move, as each move changes that, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from playout.games.core.kernels import compiled
from playout.players.evaluations.tables import (
    TABLES,
    Floats,
    Ints,
    Tables,
    code_of,
    find_numbers,
    phase_of,
)


class Line(NamedTuple):
    """The positions of a line, and for each word of a state the groups that have it."""

    states: Ints  # [ply, word]
    numbers: Ints  # [ply, group] the weight of a group, in a part of the weights
    sums: Floats  # [ply, player - 1] sums of the weights if that player is to move
    phases: Ints  # [ply] the phase of the sums; -1 if nothing is known
    begins: Ints  # [word] where its uses begin, and behind the last word where they end
    uses: Ints  # [use, field] a group, and the factor of the code of the word in its number


_V, _M = types.int64[::1], types.int64[:, ::1]
LINE = types.NamedTuple([_M, _M, types.float32[:, ::1], _V, _V, _M], Line)


def new_line(tables: Tables, words: int, plies: int) -> Line:
    """Return a line for a number of plies, of states with a number of words."""
    uses: list[list[tuple[int, int]]] = [[] for _ in range(words)]
    for group, (cells, length) in enumerate(zip(tables.groups, tables.lengths, strict=True)):
        for place in range(length):
            factor = int(tables.numbers[1]) ** (int(length) - 1 - place)
            uses[cells[place]].append((group, factor))
    while uses and not uses[-1]:  # nothing behind the last word that is used is compared
        uses.pop()
    return Line(
        np.zeros((plies, words), dtype=np.int64),
        np.zeros((plies, len(tables.groups)), dtype=np.int64),
        np.zeros((plies, 2), dtype=np.float32),
        np.full(plies, -1, dtype=np.int64),
        np.cumsum([0, *map(len, uses)], dtype=np.int64),
        np.array([use for each in uses for use in each], dtype=np.int64),
    )


@compiled(types.void(TABLES, LINE, types.int64), allocates=False)
def sum_weights(tables: Tables, line: Line, ply: int) -> None:
    """Set the sums of a position from the numbers of its groups."""
    size = tables.numbers[2]
    first = line.phases[ply] * size
    second = first + (len(tables.cuts) + 1) * size
    one = two = np.float32(0)
    for number in line.numbers[ply]:
        one += tables.weights[first + number]
        two += tables.weights[second + number]
    line.sums[ply, 0], line.sums[ply, 1] = one, two


@compiled(types.void(TABLES, LINE, types.int64), allocates=False)
def set_first(tables: Tables, line: Line, ply: int) -> None:
    """Set all about a position from its state alone."""
    find_numbers(tables, line.states[ply], line.numbers[ply])
    line.phases[ply] = phase_of(tables, line.states[ply])
    sum_weights(tables, line, ply)


@compiled(types.void(TABLES, LINE, types.int64), allocates=False)
def set_next(tables: Tables, line: Line, ply: int) -> None:
    """Set all about a position from its state and the position before it."""
    before, state, numbers = line.states[ply - 1], line.states[ply], line.numbers[ply]
    size, phase = tables.numbers[2], phase_of(tables, state)
    first = phase * size
    second = first + (len(tables.cuts) + 1) * size
    one, two = line.sums[ply - 1, 0], line.sums[ply - 1, 1]
    for group in range(len(numbers)):
        numbers[group] = line.numbers[ply - 1, group]
    for word in range(2, len(line.begins) - 1):
        if state[word] != before[word] and line.begins[word] < line.begins[word + 1]:
            more = code_of(tables, state[word]) - code_of(tables, before[word])
            for use in range(line.begins[word], line.begins[word + 1]):
                group = line.uses[use, 0]
                old = numbers[group]
                new = old + more * line.uses[use, 1]
                numbers[group] = new
                one += tables.weights[first + new] - tables.weights[first + old]
                two += tables.weights[second + new] - tables.weights[second + old]
    line.phases[ply] = phase
    if phase == line.phases[ply - 1]:
        line.sums[ply, 0], line.sums[ply, 1] = one, two
    else:
        sum_weights(tables, line, ply)


@compiled(types.float64(LINE, types.int64), allocates=False)
def sum_at(line: Line, ply: int) -> float:
    """Return the sum of the weights of a position, which has been set before."""
    return line.sums[ply, line.states[ply, 0] - 1]
