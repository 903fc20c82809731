"""Amazons: move a queen, then shoot an arrow that blocks a cell; a player who cannot move loses.

An action is a cell, counted row by row from the top, as in OpenSpiel. A player makes three moves in
a row: the cell of the queen, the cell to which it goes, and the cell of the arrow.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import ClassVar

import numpy as np

from playout.games import (
    Board,
    BoardView,
    GridGame,
    Kernels,
    SpecError,
    State,
    Symmetry,
    Vector,
    helper,
    kernel,
)
from playout.games.core.kernels import LEVEL
from playout.games.core.random import GAMMA, Rng, below

SIZES = (6, 8, 10)
QUEENS = 4
#: The next step of the player to move.
SELECT, MOVE, SHOOT = 0, 1, 2
#: The contents of a cell without a queen; 1 and 2 are the queens of the players.
EMPTY, ARROW = 0, 3

# board: the header below, the places of the queens of player 1 and of player 2, each ascending, and
# the contents of each place. A row has eleven places. Walls surround the board, so that no line of
# cells leaves it. Place 0 is a wall, and stands for a missing queen.
_SIDE, _PHASE, _CHOSEN, _QUEENS, _PLACES = 2, 3, 4, 5, 5 + 2 * QUEENS
_STRIDE, _WALL = 11, 4
_AREA = 12 * _STRIDE + 1
#: The distance of a place that no queen reaches.
_FAR = 1 << 20
#: The three steps up, from the left to the right; to the left and to the right; the three down.
_STEPS = (-_STRIDE - 1, -_STRIDE, -_STRIDE + 1, -1, 1, _STRIDE - 1, _STRIDE, _STRIDE + 1)


@helper
def place_of(cell: int, side: int) -> int:
    """Return the place of a cell."""
    return (cell // side + 1) * _STRIDE + cell % side + 1


@helper
def cell_of(place: int, side: int) -> int:
    """Return the cell of a place."""
    return (place // _STRIDE - 1) * side + place % _STRIDE - 1


@helper
def reach(board: Board, place: int, step: int) -> int:
    """Return the number of empty cells from a place on in the direction of a step."""
    n = 0
    while board[_PLACES + place + (n + 1) * step] == EMPTY:
        n += 1
    return n


@helper
def can_move(board: Board, place: int) -> bool:
    """Return whether a cell beside a queen is empty."""
    if place:
        for step in _STEPS:
            if board[_PLACES + place + step] == EMPTY:
                return True
    return False


@helper
def relocate(board: Board, place: int, target: int) -> None:
    """Move a queen of the player to move, and keep the places of the queens in order."""
    board[_PLACES + place], board[_PLACES + target] = EMPTY, board[0]
    first = _QUEENS + QUEENS * (board[0] - 1)
    last = first + QUEENS - 1
    at = first
    while at < last and board[at] != place:
        at += 1
    while at < last and board[at + 1] < target:
        board[at] = board[at + 1]
        at += 1
    while at > first and board[at - 1] > target:
        board[at] = board[at - 1]
        at -= 1
    board[at] = target


@helper
def advance(board: Board, place: int) -> None:
    """Play the action of a place, and set the outcome if the game is over."""
    if board[_PHASE] == SELECT:
        board[_PHASE], board[_CHOSEN] = MOVE, place
    elif board[_PHASE] == MOVE:
        relocate(board, board[_CHOSEN], place)
        board[_PHASE], board[_CHOSEN] = SHOOT, place
    else:
        board[_PLACES + place] = ARROW
        board[_PHASE] = board[_CHOSEN] = 0
        board[0] = 3 - board[0]
        first = _QUEENS + QUEENS * (board[0] - 1)
        for at in range(first, first + QUEENS):
            if can_move(board, board[at]):
                return
        board[1] = 3 - board[0]


@kernel
def start(board: Board, params: Vector) -> None:
    side = params[0]
    board[:] = 0
    board[0], board[_SIDE] = 1, side
    board[_PLACES:] = _WALL
    for cell in range(side * side):
        board[_PLACES + place_of(cell, side)] = EMPTY
    edge, near = side - 1, (side - 4) // 2
    for n, cell in enumerate((near, edge - near, near * side, near * side + edge)):
        above, opposite = place_of(cell, side), place_of(side * side - 1 - cell, side)
        board[_QUEENS + QUEENS + n] = above
        board[_QUEENS + QUEENS - 1 - n] = opposite
        board[_PLACES + opposite], board[_PLACES + above] = 1, 2


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    n, side, place = 0, board[_SIDE], board[_CHOSEN]
    if board[_PHASE] == SELECT:
        first = _QUEENS + QUEENS * (board[0] - 1)
        for at in range(first, first + QUEENS):
            if can_move(board, board[at]):
                actions[n] = cell_of(board[at], side)
                n += 1
        return n
    for distance in range(side - 1, 0, -1):
        for step in _STEPS[:3]:
            if reach(board, place, step) >= distance:
                actions[n] = cell_of(place + distance * step, side)
                n += 1
    for target in range(place - reach(board, place, -1), place + reach(board, place, 1) + 1):
        if target != place:
            actions[n] = cell_of(target, side)
            n += 1
    for distance in range(1, side):
        for step in _STEPS[5:]:
            if reach(board, place, step) >= distance:
                actions[n] = cell_of(place + distance * step, side)
                n += 1
    return n


@kernel
def play(board: Board, action: int) -> None:
    advance(board, place_of(action, board[_SIDE]))


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    ply, side, state = 0, board[_SIDE], rng[0]
    while board[1] == 0:
        state += GAMMA
        place = 0
        if board[_PHASE] == SELECT:
            first = _QUEENS + QUEENS * (board[0] - 1)
            n = 0
            for at in range(first, first + QUEENS):
                n += can_move(board, board[at])
            pick = below(state, n)
            for at in range(first, first + QUEENS):
                if can_move(board, board[at]):
                    if pick == 0:
                        place = board[at]
                    pick -= 1
        else:
            n = 0
            for step in _STEPS:
                n += reach(board, board[_CHOSEN], step)
            pick = below(state, n)
            for step in _STEPS:
                length = reach(board, board[_CHOSEN], step)
                if 0 <= pick < length:
                    place = board[_CHOSEN] + (pick + 1) * step
                pick -= length
        trace[ply] = cell_of(place, side)
        advance(board, place)
        ply += 1
    rng[0] = state
    return ply


@kernel
def write(board: Board, state: Vector) -> None:
    side = board[_SIDE]
    state[:2] = board[:2]
    for cell in range(side * side):
        state[2 + cell] = board[_PLACES + place_of(cell, side)]
    chosen = cell_of(board[_CHOSEN], side) if board[_PHASE] else -1
    state[-2], state[-1] = board[_PHASE], chosen


@kernel
def read(state: Vector, board: Board) -> None:
    side = board[_SIDE]
    board[:2] = state[:2]
    board[_QUEENS:_PLACES] = board[_PHASE] = board[_CHOSEN] = 0
    for cell in range(side * side):
        place, piece = place_of(cell, side), state[2 + cell]
        board[_PLACES + place] = piece if 0 <= piece <= ARROW else ARROW
        if piece == 1 or piece == 2:
            at = _QUEENS + QUEENS * (piece - 1)
            while board[at] and at < _QUEENS + QUEENS * piece - 1:
                at += 1
            board[at] = place
    chosen = state[-1]
    if 0 <= chosen < side * side and state[2 + chosen] == board[0] and 1 <= state[-2] <= 2:
        board[_PHASE], board[_CHOSEN] = state[-2], place_of(chosen, side)


@helper
def find_distances(board: Board, player: int, slides: bool, found: Vector, queue: Vector) -> None:
    """Set for each place the moves of a player's queens to it: as queens, or a step at a time."""
    n = 0
    found[:] = _FAR
    first = _QUEENS + QUEENS * (player - 1)
    for at in range(first, first + QUEENS):
        if board[at]:
            found[board[at]] = 0
            queue[n] = board[at]
            n += 1
    done = 0
    while done < n:
        place, distance = queue[done], found[queue[done]] + 1
        done += 1
        for step in _STEPS:
            target = place + step
            while board[_PLACES + target] == EMPTY and found[target] >= distance:
                if found[target] > distance:
                    found[target] = distance
                    queue[n] = target
                    n += 1
                if not slides:
                    break
                target += step


@kernel
def observe(board: Board, observed: Vector) -> None:
    side = board[_SIDE]
    write(board, observed[: 4 + side * side])
    one, two, queue = np.empty((3, _AREA), dtype=np.int64)
    for at in range(2):
        find_distances(board, 1, at == 0, one, queue)
        find_distances(board, 2, at == 0, two, queue)
        lead = 0
        for place in range(_AREA):
            lead += (one[place] < two[place]) - (two[place] < one[place])
        observed[4 + side * side + at] = min(max(0, lead + LEVEL), 2 * LEVEL - 1)


_NOTES = ("to choose a queen", "to move the queen", "to shoot an arrow")


class Amazons(GridGame):
    """Move a queen and block a cell; a player who cannot move loses."""

    about = (
        "Each player has four queens, the amazons. In turn, a player moves one of them as a queen "
        "of chess, any number of cells in a straight or diagonal line, and from where it ends it "
        "shoots an arrow in the same way. The arrow stays for good and blocks its cell: neither "
        "queens nor arrows move onto or across queens and arrows. Nothing is captured. A player "
        "who cannot move loses."
    )
    about_parameters: ClassVar = {"size": "of the board: 6, 8 or 10"}
    first_steps = (
        "Click one of your queens, then the cell to which it moves, then the cell of its arrow. "
        "You win when the opponent cannot move. Keep your queens apart and free at first; later, "
        "close off a part of the board that only you can reach, as each of its cells is a move."
    )
    variants: ClassVar = {"size=6": "A short match, to learn the game."}

    look: ClassVar = {"piece": "figure", "surface": "checkered"}
    upward = True

    kernels = Kernels(start, legal, play, playout, write, read, observe=observe)
    features = (0.04, 0.02)

    def __init__(self, size: int = 10) -> None:
        if size not in SIZES:
            raise SpecError(f"amazons: size must be 6, 8 or 10, not {size}")
        self.rows = self.columns = size
        super().__init__(
            (size,),
            board=_PLACES + _AREA,
            state=2 + size * size + 2,
            actions=size * size,
            plies=3 * (size * size - 2 * QUEENS),
        )

    @functools.cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        # The others exchange the players.
        return tuple(each for each in super().symmetries if each.cells[1] < self.columns)

    def note(self, state: State) -> str:
        return "" if state[1] else _NOTES[state[-2]]

    def view(self, state: State) -> BoardView:
        view = super().view(state)
        kinds = [("", "queen", "queen", "arrow")[each] for each in view.cells]
        for action in view.clicks:
            kinds[action] = "arrow" if state[-2] == SHOOT else "queen"
        return dataclasses.replace(view, kinds=tuple(kinds))
