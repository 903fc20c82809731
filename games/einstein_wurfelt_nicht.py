"""EinStein würfelt nicht!: numbered cubes cross the board, and a die says which one moves.

Actions and rolls have OpenSpiel's numbers. An action is `(cell * 6 + direction) * 2`, plus 1 for a
capture. Nature first puts the cubes of player 2 into their corner, then those of player 1: these
outcomes are the permutations of the cubes in lexicographic order.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from typing import ClassVar

import numpy as np

from playout.games import Board, BoardView, GridGame, Kernels, State, Vector, helper, kernel
from playout.games.core.grid import cells_of_moves
from playout.games.core.kernels import inlined_helper, insert
from playout.games.core.random import GAMMA, Rng, below
from playout.games.core.symmetries import Symmetry, identity

SIDE, CUBES = 5, 6
CELLS = SIDE * SIDE
#: The steps of player 2, and those of player 1, in rows down and columns to the right.
STEPS = ((1, 1), (1, 0), (0, 1), (-1, 0), (-1, -1), (0, -1))
SETUPS = math.factorial(CUBES)
#: The cells on which the cubes of player 1 and of player 2 are put, in the order of a permutation.
STARTS = np.array([[14, 18, 19, 22, 23, 24], [0, 1, 2, 5, 6, 10]])
_PERMUTATIONS = np.array(list(itertools.permutations(range(1, CUBES + 1))))
#: For each player, the cell of the opponent's corner.
_GOALS = np.array([0, CELLS - 1])

_MOVES = cells_of_moves(SIDE, SIDE, STEPS, kinds=2)
#: [player, cell] number of steps, and [player, cell, n] their directions, ascending, and goals.
_COUNTS = np.zeros((2, CELLS), dtype=np.int64)
_DIRECTIONS = np.zeros((2, CELLS, 3), dtype=np.int64)
_TARGETS = np.zeros((2, CELLS, 3), dtype=np.int64)
for _player, _cell, _direction in itertools.product(range(2), range(CELLS), range(6)):
    _clicked = _MOVES[(_cell * 6 + _direction) * 2]
    if _clicked and (_direction < 3) == (_player == 1):
        _n = _COUNTS[_player, _cell]
        _DIRECTIONS[_player, _cell, _n], _TARGETS[_player, _cell, _n] = _direction, _clicked[1]
        _COUNTS[_player, _cell] += 1

# board: player, outcome, player whose turn it is, number of the die, cells, places of the cubes of
# player 1 and of player 2, -1 for a captured one. Cells have the numbers 1 to 6 and 7 to 12.
_ROLLER, _DIE, _CELLS, _CUBES = 2, 3, 4, 4 + CELLS
#: A multiple of each number of steps.
_DRAWN = 60
#: Inputs of a player: the cell of each cube, and the set of cubes that are left.
_OF_PLAYER = CUBES * CELLS + 2**CUBES


@inlined_helper
def place(board: Board, player: int, cube: int) -> int:
    """Return the index of the word with the cell of a cube."""
    return _CUBES + CUBES * (player - 1) + cube - 1


@helper
def movable(board: Board, player: int, die: int) -> tuple[int, int]:
    """Return the cells of the cubes that a number of the die moves, -1 for none."""
    own = board[place(board, player, die)]
    if own >= 0:
        return own, -1
    lower = upper = -1
    for cube in range(die - 1, 0, -1):
        if board[place(board, player, cube)] >= 0:
            lower = board[place(board, player, cube)]
            break
    for cube in range(die + 1, CUBES + 1):
        if board[place(board, player, cube)] >= 0:
            upper = board[place(board, player, cube)]
            break
    return lower, upper


@helper
def has_cubes(board: Board, player: int) -> bool:
    """Return whether a player has a cube."""
    most = -1
    for cube in range(1, CUBES + 1):
        most = max(most, board[place(board, player, cube)])
    return most >= 0


@helper
def put_cubes(board: Board, player: int, setup: int) -> None:
    """Put the cubes of a player into their corner."""
    for i in range(CUBES):
        cube, cell = _PERMUTATIONS[setup, i], STARTS[player - 1, i]
        board[_CELLS + cell] = cube + CUBES * (player - 1)
        board[place(board, player, cube)] = cell


@helper
def move(board: Board, player: int, begin: int, goal: int) -> None:
    """Move a cube, and set the outcome if it wins; the next roll is the opponent's."""
    number, captured = board[_CELLS + begin], board[_CELLS + goal]
    board[_CELLS + begin], board[_CELLS + goal] = 0, number
    board[_CUBES + number - 1] = goal
    if captured:
        board[_CUBES + captured - 1] = -1
    board[0], board[_ROLLER], board[_DIE] = 0, 3 - player, 0
    if goal == _GOALS[player - 1] or (captured and not has_cubes(board, 3 - player)):
        board[0], board[1] = 3 - player, player


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    n = 0
    if board[0] == 0:
        n = CUBES if board[_ROLLER] else SETUPS
        for outcome in range(n):
            actions[outcome] = outcome
        return n
    player = board[0]
    for begin in movable(board, player, board[_DIE]):
        if begin >= 0:
            for i in range(_COUNTS[player - 1, begin]):
                captures = board[_CELLS + _TARGETS[player - 1, begin, i]] != 0
                insert(actions, n, (begin * 6 + _DIRECTIONS[player - 1, begin, i]) * 2 + captures)
                n += 1
    return n


@kernel
def play(board: Board, action: int) -> None:
    if board[0]:
        player, begin = board[0], action // 12
        for i in range(_COUNTS[player - 1, begin]):
            if _DIRECTIONS[player - 1, begin, i] == action // 2 % 6:
                move(board, player, begin, _TARGETS[player - 1, begin, i])
                break
    elif board[_ROLLER]:
        board[0], board[_DIE] = board[_ROLLER], action + 1
    elif not has_cubes(board, 2):
        put_cubes(board, 2, action)
    else:
        put_cubes(board, 1, action)
        board[_ROLLER] = 1


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    ply, state = 0, rng[0]
    while board[1] == 0:
        state += GAMMA
        if board[_ROLLER] == 0:
            setup = below(state, SETUPS)
            trace[ply] = setup
            ply += 1
            if has_cubes(board, 2):
                put_cubes(board, 1, setup)
                board[_ROLLER] = 1
            else:
                put_cubes(board, 2, setup)
            continue
        # One number has the die and the choice of a move.
        player, drawn = board[_ROLLER], below(state, CUBES * _DRAWN)
        die = 1 + drawn // _DRAWN
        if board[0]:
            die = board[_DIE]
        else:
            trace[ply] = die - 1
            ply += 1
        one, other = movable(board, player, die)
        first = _COUNTS[player - 1, one] if one >= 0 else 0
        second = _COUNTS[player - 1, other] if other >= 0 else 0
        if first + second == 0:  # in an invalid position
            board[0], board[1] = player, 3 - player
            break
        pick = drawn % _DRAWN % (first + second)
        begin = one
        if pick >= first:
            begin, pick = other, pick - first
        goal = _TARGETS[player - 1, begin, pick]
        captures = board[_CELLS + goal] != 0
        trace[ply] = (begin * 6 + _DIRECTIONS[player - 1, begin, pick]) * 2 + captures
        ply += 1
        move(board, player, begin, goal)
    rng[0] = state
    return ply


@kernel
def write(board: Board, state: Vector) -> None:
    state[:] = board[:_CUBES]


@kernel
def inputs(board: Board, found: Vector) -> int:
    found[0] = max(1, board[_ROLLER]) if board[0] == 0 else 3 - board[0]
    n = 1
    for side in range(2):
        player = found[0] if side == 0 else 3 - found[0]
        begin, left = _OF_PLAYER * side, 0
        for cube in range(1, CUBES + 1):
            cell = board[place(board, player, cube)]
            if cell >= 0:
                left |= 1 << cube - 1
                seen = cell if found[0] == 1 else CELLS - 1 - cell
                found[n] = begin + CELLS * (cube - 1) + seen
                n += 1
        found[n] = begin + CELLS * CUBES + left
        n += 1
    return n


@kernel
def read(state: Vector, board: Board) -> None:
    board[:_CELLS] = state[:_CELLS]
    board[_CELLS:_CUBES] = 0
    board[_CUBES:] = -1
    for cell in range(CELLS):
        number = state[_CELLS + cell]
        if 1 <= number <= 2 * CUBES and board[_CUBES + number - 1] < 0:
            board[_CELLS + cell] = number
            board[_CUBES + number - 1] = cell
    board[_ROLLER], board[_DIE] = min(max(0, state[2]), 2), min(max(0, state[3]), CUBES)
    if board[0]:
        board[_ROLLER] = board[0]
        if board[1] == 0:
            board[_DIE] = max(1, board[_DIE])


class EinsteinWurfeltNicht(GridGame):
    """Bring a cube to the opposite corner, or capture all cubes of the opponent."""

    has_chance = True
    title = "EinStein würfelt nicht!"

    about = (
        "Each player has six cubes, numbered from 1 to 6, which are put into opposite corners at "
        "random. In turn, players roll a die and move the cube of that number one cell towards the "
        "other corner, straight or diagonally. If it was captured, they choose the cube with the "
        "next lower or the next higher number. A cube captures whatever is on its goal, also one "
        "of its own colour. The player who reaches the opposite corner, or captures all cubes of "
        "the opponent, wins."
    )
    groups = ("quick",)
    first_steps = (
        "Click the cube that the die has rolled, and then its goal. A diagonal step is the "
        "shortest way. Capturing a cube of your own can help: the others then move more often."
    )

    rows = columns = SIDE
    pieces = (
        (0, ""),
        *((1, str(cube)) for cube in range(1, CUBES + 1)),
        *((2, str(cube)) for cube in range(1, CUBES + 1)),
    )
    look: ClassVar = {"piece": "disc"}

    kernels = Kernels(legal, play, playout, write, read, inputs=inputs)
    num_inputs, most_inputs = 2 * _OF_PLAYER, 2 * (CUBES + 1)

    def __init__(self) -> None:
        super().__init__(
            first=(0,),
            board=_CUBES + 2 * CUBES,
            state=_CUBES,
            actions=SETUPS,
            # Two setups; each step of a cube, and the roll before it, brings a corner nearer.
            plies=2 + 2 * 2 * CUBES * 2 * (SIDE - 1),
        )

    @functools.cached_property
    def cell_words(self) -> tuple[int, ...]:
        return tuple(range(_CELLS, _CUBES))

    @functools.cached_property
    def action_cells(self) -> tuple[tuple[int, ...], ...]:
        return ()

    @functools.cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        return (identity(CELLS, SETUPS),)

    def clicked(self, state: State, action: int) -> tuple[int, ...]:
        return _MOVES[action] if state[0] and action < len(_MOVES) else ()

    def action_name(self, state: State, action: int) -> str:
        if state[0]:
            return super().action_name(state, action)
        if state[_ROLLER]:
            return str(action + 1)
        return "".join(map(str, _PERMUTATIONS[action])) if 0 <= action < SETUPS else ""

    def note(self, state: State) -> str:
        return f"die: {state[_DIE]}" if state[_DIE] else ""

    def view(self, state: State) -> BoardView:
        dice = (state[_DIE],) if state[_DIE] else ()
        return dataclasses.replace(super().view(state), dice=dice)
