"""An evaluation of positions: sums of weights, one for what is on each of many groups of cells.

A group is a line, a rectangle or a pair of cells of the board. What is on its cells is a number,
which selects a weight of the group (n-tuples: Lucas 2008, Jaśkowski 2014). Groups that a symmetry
of the game maps to each other share their weights. There are weights for each player to move and
for each phase of the game, which the number of occupied cells tells. The hyperbolic tangent of the
sum is the expected result of player 1, from -1 for a loss to 1 for a win.

Everything follows from the flat state of a game, its view and its symmetries: a game needs nothing
else to be learned.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from playout.games import Game, KernelGame, SpecError, State
from playout.games.core.kernels import LEVEL, compiled, helper
from playout.players.core.cells import APART, CellLayout, cells_of, random_positions

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]

#: Whether moves remove pieces: never, some moves do, or all do where one of them can.
NEVER, SOMETIMES, ALWAYS = range(3)
#: The initial weight of a piece that is worth 1.
_PAWN = 0.15
#: Numbers of random positions: those whose cells are read to know their values, with compiled rules
#: and with others, and those whose moves are examined.
_POSITIONS, _FEWER_POSITIONS, _EXAMINED = 3000, 500, 100
#: Upper bound of the numbers that a game adds to a state.
FEATURE_VALUES = 2 * LEVEL
#: (maximum number of values of a cell, cells in a line); with more values, a line has two.
_LINES = ((2, 6), (4, 4), (6, 3))
#: Rows and columns of the rectangles of cells.
_RECTANGLES = ((2, 3), (3, 2), (3, 3))
#: Weights of a group, at most, and whether there is more than one phase; where there are too many
#: weights for a file, the next ones.
_SIZES, _MOST_WEIGHTS = ((4**6, True), (4**5, True), (4**5, False), (4**4, False)), 520_000
#: Minimum number of cells of a board on which all groups of one shape share their weights.
_LARGE = 100
#: Pairs of cells a knight's move apart are groups where a cell has at least this many values.
_LEAPS, _FEWEST_FOR_LEAPS = ((1, 2), (2, 1), (1, -2), (2, -1)), 7


class Tables(NamedTuple):
    """The groups of an evaluation, and their weights.

    Value v has the code `codes[v - numbers[0]]`, below `numbers[1]` on a cell. The weights of group
    g begin at `offsets[g]` in a part of `numbers[2]` weights, of which there is one for each player
    to move and phase. A position has the first phase if at most `cuts[0]` cells are occupied, and
    so on.
    """

    groups: Ints  # [group, place] index in the state, or behind it of a number that the game adds
    lengths: Ints  # [group] number of cells
    offsets: Ints  # [group]
    codes: Ints
    numbers: Ints  # the lowest value, those of codes and of weights of a part; NEVER and so on
    cells: Ints  # [cell that changes] index in the state
    cuts: Ints
    weights: Floats


_V, _M = types.int64[::1], types.int64[:, ::1]
TABLES = types.NamedTuple([_M, _V, _V, _V, _V, _V, _V, types.float32[::1]], Tables)


@helper
def occupied(tables: Tables, state: Ints) -> int:
    """Return the number of cells of a state that are not 0."""
    n = 0
    for cell in tables.cells:
        n += state[cell] != 0
    return n


@helper
def phase_of(tables: Tables, state: Ints) -> int:
    """Return the phase of a state, from 0."""
    filled = occupied(tables, state)
    phase = 0
    for cut in tables.cuts:
        phase += filled > cut
    return phase


@helper
def code_of(tables: Tables, value: int) -> int:
    """Return the code of a value; for values beyond all that were seen, that of the nearest."""
    return tables.codes[min(max(0, value - tables.numbers[0]), len(tables.codes) - 1)]


@helper
def find_numbers(tables: Tables, state: Ints, numbers: Ints) -> None:
    """Write the place of the weight of each group, in a part of the weights, into `numbers`."""
    values = tables.numbers[1]
    for group in range(len(tables.groups)):
        number = 0
        for place in range(tables.lengths[group]):
            number = number * values + code_of(tables, state[tables.groups[group, place]])
        numbers[group] = tables.offsets[group] + number


@helper
def find_weights(tables: Tables, state: Ints, indices: Ints) -> None:
    """Write the index of the weight of each group into `indices`."""
    find_numbers(tables, state, indices)
    part = (state[0] - 1) * (len(tables.cuts) + 1) + phase_of(tables, state)
    for group in range(len(indices)):
        indices[group] += part * tables.numbers[2]


@helper
def expected(tables: Tables, indices: Ints) -> float:
    """Return the expected result of player 1, between -1 and 1, from the weights at `indices`."""
    total = np.float32(0)
    for index in indices:
        total += tables.weights[index]
    return math.tanh(total)


def new_tables(game: Game, phases: int = 3) -> Tables:
    """Return the tables of a game before learning.

    Raises SpecError if its states differ in length, or have no numbers that can be cells.
    """
    game.require_no_chance("tables do not evaluate")
    count = _POSITIONS if isinstance(game, KernelGame) else _FEWER_POSITIONS
    states = list(islice(random_positions(game), 0, count * APART, APART))
    observed = [game.observed(state) for state in states]
    if len({len(each) for each in observed}) > 1:
        raise SpecError(f"no evaluation of {game} can be learned: its states differ in length")
    seen = np.array(observed)
    board = cells_of(game)
    cells = board.words
    used = [cell for cell in cells if cell >= 0]
    values = sorted({0, *np.unique(seen[:, used]).tolist()})
    coded = [*values, *(sorted({*range(FEATURE_VALUES)} - {*values}) if game.features else ())]
    low = min(coded)
    codes = np.zeros(max(coded) - low + 1, dtype=np.int64)
    codes[np.array(coded) - low] = np.arange(len(coded))
    changing = {at for at, cell in enumerate(cells) if cell >= 0 and np.ptp(seen[:, cell]) > 0}
    for most, has_phases in _SIZES:
        phases = phases if has_phases else 1
        groups, offsets, size = _shared(game, board, changing, len(values), most)
        if 2 * phases * size <= _MOST_WEIGHTS:
            break
    groups = [tuple(cells[cell] for cell in group) for group in groups]
    for feature in range(game.observed_words - len(game.features), game.observed_words):
        groups.append((feature,))
        offsets.append(size)
        size += len(coded)
    lengths = np.array([len(group) for group in groups], dtype=np.int64)
    size = int(max(size, *ends_of(lengths, np.array(offsets), len(values), len(coded))))
    padded = np.zeros((len(groups), lengths.max()), dtype=np.int64)
    for at, group in enumerate(groups):
        padded[at, : len(group)] = group
    filled = (seen[:, used] != 0).sum(axis=1)
    weights = np.zeros((2 * phases, size), dtype=np.float32)
    for group, begin in zip(groups, offsets, strict=True):
        if len(group) == 1 and group[0] in used:
            for value, (owner, kind) in board.pieces.items():
                if value in values and kind in game.material:
                    worth = game.material[kind] * (3 - 2 * owner)
                    weights[:, begin + codes[value - low]] = worth * _PAWN
    leads = np.arange(FEATURE_VALUES) - LEVEL
    for feature, each in enumerate(game.features, start=len(groups) - len(game.features)):
        weights[:, offsets[feature] + codes[-low : FEATURE_VALUES - low]] = each * leads
    cuts = np.linspace(filled.min(), filled.max(), phases + 1)[1:-1].astype(np.int64)
    return Tables(
        padded,
        lengths,
        np.array(offsets, dtype=np.int64),
        codes,
        np.array(
            [low, len(values), size, _removing(game, used, states[:_EXAMINED])],
            dtype=np.int64,
        ),
        np.array(used, dtype=np.int64),
        cuts,
        weights.ravel(),
    )


def ends_of(lengths: Ints, offsets: Ints, values: int, codes: int) -> NDArray[np.float64]:
    """Return the end of each group's weights within a part, for codes below `codes`."""
    places = np.arange(lengths.max())
    factors = np.where(places < lengths[:, None], np.power(float(values), places), 0.0)
    return offsets + (codes - 1) * factors.sum(axis=1) + 1


def _removing(game: Game, cells: list[int], states: list[State]) -> int:
    """Return whether moves remove pieces in some positions: NEVER, SOMETIMES or ALWAYS.

    It is NEVER as well if all moves do: then no position is quieter than another.
    """

    def occupied_cells(state: State) -> int:
        words = game.observed(state) if game.observed_board else state
        return sum(words[cell] != 0 for cell in cells)

    found = set()
    for state in states:
        before, mover = occupied_cells(state), game.current_player(state)
        after = (game.next_state(state, action) for action in game.legal_actions(state))
        # A step after which the same player moves again may only lift a piece.
        removing = {occupied_cells(each) < before for each in after if each[0] != mover}
        if removing == {True, False}:
            return SOMETIMES
        found |= removing
    return ALWAYS if found == {True, False} else NEVER


def _shared(
    game: Game, board: CellLayout, used: set[int], values: int, most: int
) -> tuple[list[tuple[int, ...]], list[int], int]:
    """Return the groups of cells of the view, the offset of each one's weights, and their number.

    A group has at most `most` weights. The images of a group under the symmetries of the game have
    its weights, and on a large board all groups of its shape.
    """
    symmetries = [each.cells for each in game.symmetries] if board.is_shown else []
    groups, offsets, size = [], [], 0
    known: set[tuple[int, ...]] = set()
    begins: dict[tuple[int, ...], int] = {}  # of the weights of a shape, on a large board
    for cells in _groups(game, board.rows, board.columns, values):
        group = tuple(cell for cell in cells if cell in used)
        if not group or tuple(sorted(group)) in known or values ** len(group) > most:
            continue
        begin = begins.get(_shape(group), size)
        for image in (group, *(tuple(each[cell] for cell in group) for each in symmetries)):
            if tuple(sorted(image)) not in known:
                known.add(tuple(sorted(image)))
                groups.append(image)
                offsets.append(begin)
                if len(used) >= _LARGE and len(group) > 1:
                    begins[_shape(image)] = begin
        if begin == size:
            size += values ** len(group)
    return groups, offsets, size


def _shape(group: tuple[int, ...]) -> tuple[int, ...]:
    """Return the distances of the cells from the first one, which do not depend on its place."""
    return tuple(cell - group[0] for cell in group)


def _groups(game: Game, rows: int, columns: int, values: int) -> Iterator[tuple[int, ...]]:
    """Yield single cells, lines, rectangles, leaps and shapes of a game, as cells of the view."""
    length = next((length for most, length in _LINES if values <= most), 2)
    shapes: list[Sequence[tuple[int, int]]] = [[(0, 0)], *game.shapes]
    shapes += [
        [(at * down, at * across) for at in range(length)]
        for down, across in ((0, 1), (1, 0), (1, 1), (1, -1))
    ]
    shapes += [
        [(row, column) for row in range(height) for column in range(width)]
        for height, width in _RECTANGLES
    ]
    if values >= _FEWEST_FOR_LEAPS:
        shapes += [[(0, 0), leap] for leap in _LEAPS]
    for row in range(rows):
        for column in range(columns):
            for shape in shapes:
                places = [(row + down, column + across) for down, across in shape]
                if all(0 <= r < rows and 0 <= c < columns for r, c in places):
                    yield tuple(r * columns + c for r, c in places)


# Evaluations along a line of positions, each from the differences to the one before. A move changes
# few cells, and a cell is in few groups: only the weights of these groups are exchanged in the sum.
# There is a sum for each player to move, as each move changes that, too.


class Line(NamedTuple):
    """The positions of a line, and for each word of a state the groups that have it."""

    states: Ints  # [ply, word]
    numbers: Ints  # [ply, group] the weight of a group, in a part of the weights
    sums: Floats  # [ply, player - 1] sums of the weights if that player is to move
    phases: Ints  # [ply] the phase of the sums; -1 if nothing is known
    begins: Ints  # [word] where its uses begin, and behind the last word where they end
    uses: Ints  # [use, field] a group, and the factor of the code of the word in its number


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
