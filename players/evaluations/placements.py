"""An evaluation's expectation of each action in a position, if actions place stones.

A stone changes the weights of the groups that hold its cell, and no others: so all actions together
take the time of a few evaluations.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from playout.games import Game, GridGame, KernelGame, SpecError
from playout.games.core.kernels import helper, inlined_helper
from playout.players.evaluations.tables import TABLES, Floats, Ints, Tables, code_of, phase_of


class Placements(NamedTuple):
    """An evaluation with the groups of each action's cell, and working memory.

    The entries of action a are those from `begins[a]` to `begins[a + 1]`.
    """

    tables: Tables
    cells: Ints  # [action] index of its cell in the state, or of the outcome
    begins: Ints  # [action and one more]; empty without an evaluation
    groups: NDArray[np.int32]  # [entry] a group that holds the cell
    factors: NDArray[np.int32]  # [entry] what the code of a cell is multiplied by in its number
    empty: Ints  # [group] its number without stones
    state: Ints  # [word]
    numbers: Ints  # [group]
    weights: Floats  # [group]
    shares: Floats  # [action] the expected points, from 0 to 1


_V, _W, _F = types.int64[::1], types.int32[::1], types.float32[::1]
PLACEMENTS = types.NamedTuple([TABLES, _V, _V, _W, _W, *[_V] * 3, _F, _F], Placements)


def no_placements() -> Placements:
    """Return empty placements, for a search without an evaluation."""
    none, entries, weights = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32)
    tables = Tables(none.reshape(0, 0), none, none, none, none, none, none, weights)
    return Placements(tables, none, none, entries, entries, none, none, none, weights, weights)


def new_placements(game: Game, tables: Tables) -> Placements:
    """Return the placements of a game. Raises SpecError if its actions do not place stones."""
    if not isinstance(game, KernelGame):
        raise SpecError(f"{game} has no compiled rules, which an evaluation needs")
    if not (isinstance(game, GridGame) and game.stone_cells):
        raise SpecError(f"the actions of {game} do not each place a stone on a cell of their own")
    actions = {game.cell_words[cell]: action for action, cell in game.stone_cells.items()}
    lengths = tables.lengths[:, None]
    places = np.arange(tables.groups.shape[1])
    powers = np.power(tables.numbers[1], np.maximum(lengths - 1 - places, 0))
    factors = np.where(places < lengths, powers, 0)
    found: list[list[tuple[int, int]]] = [[] for _ in range(game.num_actions)]
    for group, length in enumerate(tables.lengths):
        for place in range(length):
            cell = int(tables.groups[group, place])
            if cell in actions:
                found[actions[cell]].append((group, factors[group, place]))
    entries = np.array([entry for each in found for entry in each]).reshape(-1, 2).astype(np.int32)
    cells = np.ones(game.num_actions, np.int64)  # the outcome, which is 0 like an empty cell
    cells[list(actions.values())] = list(actions)
    groups = len(tables.groups)
    return Placements(
        tables,
        cells,
        np.cumsum([0, *map(len, found)], dtype=np.int64),
        entries[:, 0].copy(),
        entries[:, 1].copy(),
        tables.offsets + code_of(tables, 0) * factors.sum(axis=1),
        np.zeros(game.observed_words, np.int64),
        np.zeros(groups, np.int64),
        np.zeros(groups, np.float32),
        np.zeros(game.num_actions, np.float32),
    )


def with_own_memory(placements: Placements) -> Placements:
    """Return placements with working memory of their own, for another thread."""
    memory = {name: getattr(placements, name).copy() for name in Placements._fields[6:]}
    return placements._replace(**memory)


@inlined_helper
def _change(placements: Placements, entry: int, change: int) -> Any:
    """Return the difference of a weight if the code of a cell changes."""
    group = np.uint64(placements.groups[entry])
    number = np.uint64(placements.numbers[group] + change * placements.factors[entry])
    return placements.tables.weights[number] - placements.weights[group]


@helper
def expect_placements(placements: Placements, board: Any, observe: Any) -> None:
    """Write the expected points of the player to move after each action into `shares`.

    An action that places no stone changes nothing but the player to move.
    """
    tables, state, numbers = placements.tables, placements.state, placements.numbers
    begins, groups, factors = placements.begins, placements.groups, placements.factors
    weights, values = placements.weights, tables.weights
    observe(board, state)
    player, empty = state[0], code_of(tables, 0)
    # The opponent is to move after the action.
    part = ((2 - player) * (len(tables.cuts) + 1) + phase_of(tables, state)) * tables.numbers[2]
    for group in range(len(numbers)):
        numbers[group] = part + placements.empty[group]
    for action in range(len(begins) - 1):
        stone = state[placements.cells[action]]
        if stone != 0:
            change = code_of(tables, stone) - empty
            for entry in range(begins[action], begins[action + 1]):
                numbers[np.uint64(groups[entry])] += change * factors[entry]
    total = np.float32(0)
    for group in range(len(numbers)):
        weights[group] = values[numbers[group]]
        total += weights[group]
    change = code_of(tables, player) - empty
    sign = np.float32(1.5 - player)
    for action in range(len(begins) - 1):
        if state[placements.cells[action]] == 0:
            # Two sums, so that an addition does not wait for the one before it.
            one, two = total, np.float32(0)
            begin, end = begins[action], begins[action + 1]
            if (end - begin) & 1:
                end -= 1
                two = _change(placements, end, change)
            for entry in range(begin, end, 2):
                one += _change(placements, entry, change)
                two += _change(placements, entry + 1, change)
            placements.shares[action] = np.float32(0.5) + sign * np.float32(math.tanh(one + two))
