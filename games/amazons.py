"""Amazons: move a queen, then shoot an arrow that blocks a cell; a player who cannot move loses.

An action is a cell, counted row by row from the top, as in OpenSpiel. A player makes three moves in
a row: the cell of the queen, the cell to which it goes, and the cell of the arrow.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Annotated, ClassVar

import numpy as np
from numba.cpython.unsafe.numbers import leading_zeros

from playout.games import (
    Board,
    BoardView,
    GridGame,
    Kernels,
    Option,
    SpecError,
    State,
    Symmetry,
    Vector,
    helper,
    kernel,
)
from playout.games.core.bits import count, lowest
from playout.games.core.kernels import LEVEL, insert
from playout.games.core.random import DRAWN, GAMMA, Rng, below, one_of

SIZES = (6, 8, 10)
QUEENS = 4
#: The next step of the player to move.
SELECT, MOVE, SHOOT = 0, 1, 2
#: The contents of a cell without a queen; 1 and 2 are the queens of the players.
EMPTY, ARROW = 0, 3

# board: the header below, the places of the queens of player 1 and of player 2, each ascending, and
# the lines of the board: rows, columns, and the diagonals down and up to the right. A line is a
# word, in which the bits of blocked cells are set, and all bits beyond the edge. Place 16 * row +
# column is a cell, both counted from 1; the place NONE stands for a missing queen. A word may have
# two diagonals, one from the upper or lower edge and one from the other, which do not meet.
_SIDE, _PHASE, _CHOSEN, _QUEENS, _LINES = 2, 3, 4, 5, 5 + 2 * QUEENS
_ROWS, _COLUMNS, _DOWN, _UP = (_LINES + 16 * n for n in range(4))
_SIZE = _LINES + 4 * 16
_NONE = 13 * 16 + 13
#: The three steps up, from the left to the right; to the left and to the right; the three down.
_STEPS = np.array([-17, -16, -15, -1, 1, 15, 16, 17])
_ONES, _HIGH = 0x0101010101010101, -0x7F7F7F7F7F7F7F80


@helper
def place_of(cell: int, side: int) -> int:
    """Return the place of a cell."""
    return (cell // side + 1) * 16 + cell % side + 1


@helper
def cell_of(place: int, side: int) -> int:
    """Return the cell of a place."""
    return ((place >> 4) - 1) * side + (place & 15) - 1


@helper
def toggle(board: Board, place: int) -> None:
    """Block a free cell, or free a blocked one."""
    row, column = place >> 4, place & 15
    board[_ROWS + row] ^= 1 << column
    board[_COLUMNS + column] ^= 1 << row
    board[_DOWN + (row - column & 15)] ^= 1 << column
    board[_UP + (row + column & 15)] ^= 1 << column


@helper
def reaches(board: Board, place: int) -> int:
    """Return the number of free cells from a place on in each direction: a byte for each step."""
    row, column = place >> 4, place & 15
    across, along = board[_ROWS + row], board[_COLUMNS + column]
    down, up = board[_DOWN + (row - column & 15)], board[_UP + (row + column & 15)]
    return (
        leading_zeros(down << 64 - column)
        | leading_zeros(along << 64 - row) << 8
        | lowest(up >> column + 1) << 16
        | leading_zeros(across << 64 - column) << 24
        | lowest(across >> column + 1) << 32
        | leading_zeros(up << 64 - column) << 40
        | lowest(along >> row + 1) << 48
        | lowest(down >> column + 1) << 56
    )


@helper
def movable(board: Board, player: int) -> int:
    """Return the queens of a player beside which a cell is free, as bits."""
    found = 0
    for n in range(QUEENS):
        place = board[_QUEENS + QUEENS * (player - 1) + n]
        at = _ROWS + (place >> 4)
        blocked = board[at - 1] & board[at] & board[at + 1]
        found |= (blocked >> (place & 15) - 1 & 7 != 7) << n
    return found


@helper
def sort_queens(board: Board, player: int) -> None:
    """Restore the order of a player's queens."""
    first = _QUEENS + QUEENS * (player - 1)
    for n in range(1, QUEENS):
        insert(board[first : first + QUEENS], n, board[first + n])


@helper
def free_all(board: Board) -> None:
    """Set the lines of an empty board."""
    board[_LINES:] = -1
    for cell in range(board[_SIDE] * board[_SIDE]):
        toggle(board, place_of(cell, board[_SIDE]))


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    n, side, place = 0, board[_SIDE], board[_CHOSEN]
    if board[_PHASE] == SELECT:
        queens, first = movable(board, board[0]), _QUEENS + QUEENS * (board[0] - 1)
        while queens:
            actions[n] = cell_of(board[first + lowest(queens)], side)
            queens &= queens - 1
            n += 1
        return n
    # Cells that are not reached are written too, and overwritten by the next one.
    cell, lengths = cell_of(place, side), reaches(board, place)
    for distance in range(side - 1, 0, -1):
        for which in range(3):
            actions[n] = cell + distance * (which - 1 - side)
            n += lengths >> 8 * which & 0xFF >= distance
    left, right = lengths >> 24 & 0xFF, lengths >> 32 & 0xFF
    for target in range(cell - left, cell + right + 1):
        actions[n] = target
        n += target != cell
    for distance in range(1, side):
        for which in range(3):
            actions[n] = cell + distance * (which - 1 + side)
            n += lengths >> 8 * which + 40 & 0xFF >= distance
    return n


@kernel
def play(board: Board, action: int) -> None:
    player, place = board[0], place_of(action, board[_SIDE])
    if board[_PHASE] == SELECT:
        board[_PHASE], board[_CHOSEN] = MOVE, place
    elif board[_PHASE] == MOVE:
        for at in range(_QUEENS, _LINES):
            if board[at] == board[_CHOSEN]:
                board[at] = place
        sort_queens(board, player)
        toggle(board, board[_CHOSEN])
        toggle(board, place)
        board[_PHASE], board[_CHOSEN] = SHOOT, place
    else:
        toggle(board, place)
        board[_PHASE] = board[_CHOSEN] = 0
        board[0] = 3 - player
        if movable(board, 3 - player) == 0:
            board[1] = player


@helper
def slide(board: Board, place: int, state: np.uint64) -> int:
    """Return a random place to which a queen or an arrow can move."""
    sums = reaches(board, place) * _ONES  # byte n: the cells in the directions up to n
    pick = below(state, sums >> 56)
    direction = count((pick * _ONES | _HIGH) - sums & _HIGH)
    return place + _STEPS[direction] * (pick + 1 - (sums << 8 >> 8 * direction & 0xFF))


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    if board[1]:
        return 0
    player, side, state = board[0], board[_SIDE], rng[0]
    phase, place = board[_PHASE], board[_CHOSEN]
    at = _QUEENS  # the index of the chosen queen
    for each in range(_QUEENS, _LINES):
        if board[each] == place:
            at = each
    ply = 0
    while True:
        if phase == SELECT:
            queens = movable(board, player)
            if queens == 0:
                break
            state += GAMMA
            at = _QUEENS + QUEENS * (player - 1) + one_of(queens, below(state, DRAWN))
            place = board[at]
            trace[ply] = cell_of(place, side)
            ply += 1
        if phase != SHOOT:
            state += GAMMA
            target = slide(board, place, state)
            trace[ply] = cell_of(target, side)
            ply += 1
            toggle(board, place)
            toggle(board, target)
            board[at] = place = target
        state += GAMMA
        arrow = slide(board, place, state)
        toggle(board, arrow)
        trace[ply] = cell_of(arrow, side)
        ply += 1
        phase, player = SELECT, 3 - player
    rng[0] = state
    board[0], board[1] = player, 3 - player
    board[_PHASE] = board[_CHOSEN] = 0
    sort_queens(board, 1)
    sort_queens(board, 2)
    return ply


@kernel
def write(board: Board, state: Vector) -> None:
    side = board[_SIDE]
    state[:2] = board[:2]
    for row in range(side):
        for column in range(side):
            blocked = board[_ROWS + 1 + row] >> column + 1 & 1
            state[2 + row * side + column] = ARROW * blocked
    for n in range(2 * QUEENS):
        if board[_QUEENS + n] != _NONE:
            state[2 + cell_of(board[_QUEENS + n], side)] = 1 + n // QUEENS
    chosen = cell_of(board[_CHOSEN], side) if board[_PHASE] else -1
    state[-2], state[-1] = board[_PHASE], chosen


@kernel
def read(state: Vector, board: Board) -> None:
    side = board[_SIDE]
    board[:2] = state[:2]
    board[_PHASE] = board[_CHOSEN] = 0
    board[_QUEENS:_LINES] = _NONE
    free_all(board)
    for cell in range(side * side):
        place, piece = place_of(cell, side), state[2 + cell]
        if piece != EMPTY:
            toggle(board, place)
        if piece == 1 or piece == 2:
            at = _QUEENS + QUEENS * (piece - 1)
            while board[at] != _NONE and at < _QUEENS + QUEENS * piece - 1:
                at += 1
            board[at] = place
    chosen = state[-1]
    if 0 <= chosen < side * side and state[2 + chosen] == board[0] and 1 <= state[-2] <= 2:
        place = place_of(chosen, side)
        if reaches(board, place):
            board[_PHASE], board[_CHOSEN] = state[-2], place


# Sets of cells, to count who is ahead in space: two words, with the rows 1 to 5 and the rows 6 to
# 10. A row takes eleven bits, of which the last is never set, so that no step leads beyond an edge.
_STRIDE, _HALF = 11, 55


@helper
def stepped(upper: int, lower: int, step: int) -> tuple[int, int]:
    """Return cells moved by a step; some leave the board, or come to where no cell is."""
    if step > 0:
        return upper << step, lower << step | upper >> _HALF - step
    return upper >> -step | lower << _HALF + step, lower >> -step


@helper
def reached(upper: int, lower: int, free: int, free_below: int, slides: bool) -> tuple[int, int]:
    """Return the free cells that queens on these cells reach in a move, or only in a step."""
    found = found_below = 0
    for step in (-12, -11, -10, -1, 1, 10, 11, 12):
        one, two = upper, lower
        while one | two:
            one, two = stepped(one, two, step)
            one, two = one & free, two & free_below
            found, found_below = found | one, found_below | two
            if not slides:
                break
    return found, found_below


@helper
def queens_of(board: Board, player: int) -> tuple[int, int]:
    """Return the cells of a player's queens."""
    upper = lower = 0
    for n in range(QUEENS):
        place = board[_QUEENS + QUEENS * (player - 1) + n]
        bit = ((place >> 4) - 1) * _STRIDE + (place & 15) - 1
        if bit < _HALF:
            upper |= 1 << bit
        elif place != _NONE:
            lower |= 1 << bit - _HALF
    return upper, lower


@helper
def lead_in_space(board: Board, slides: bool) -> int:
    """Return how many more cells player 1 reaches in fewer moves, of queens or of a step each."""
    free = free_below = 0
    for row in range(5):
        free |= (~board[_ROWS + 1 + row] >> 1 & 0x3FF) << row * _STRIDE
        free_below |= (~board[_ROWS + 6 + row] >> 1 & 0x3FF) << row * _STRIDE
    # The cells that no queen of player 1 has reached, and those that none of player 2 has.
    left, left_below, other, other_below = free, free_below, free, free_below
    one, one_below = queens_of(board, 1)
    two, two_below = queens_of(board, 2)
    lead = count(one) + count(one_below) - count(two) - count(two_below)
    while one | one_below | two | two_below:
        one, one_below = reached(one, one_below, left, left_below, slides)
        two, two_below = reached(two, two_below, other, other_below, slides)
        left, left_below = left & ~one, left_below & ~one_below
        other, other_below = other & ~two, other_below & ~two_below
        lead += count(one & other) + count(one_below & other_below)
        lead -= count(two & left) + count(two_below & left_below)
    return lead


@kernel
def observe(board: Board, observed: Vector) -> None:
    end = 4 + board[_SIDE] * board[_SIDE]
    write(board, observed[:end])
    for n in range(2):
        lead = lead_in_space(board, n == 0)
        observed[end + n] = min(max(0, lead + LEVEL), 2 * LEVEL - 1)
    observed[end + 2] = LEVEL + board[_PHASE]


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
    groups = ("territory",)
    first_steps = (
        "Click one of your queens, then the cell to which it moves, then the cell of its arrow. "
        "You win when the opponent cannot move. Keep your queens apart and free at first; later, "
        "close off a part of the board that only you can reach, as each of its cells is a move."
    )
    variants: ClassVar = {"size=6": "A short match, to learn the game."}

    look: ClassVar = {"piece": "figure", "surface": "checkered"}
    pieces = ((0, ""), (1, "queen"), (2, "queen"), (3, "arrow"))
    upward = True
    kernels = Kernels(legal, play, playout, write, read, observe=observe)
    features = (0.04, 0.02, 0.0)

    def __init__(self, size: Annotated[int, Option("of the board: 6, 8 or 10")] = 10) -> None:
        if size not in SIZES:
            raise SpecError(f"amazons: size must be 6, 8 or 10, not {size}")
        self.rows = self.columns = size
        edge, near = size - 1, (size - 4) // 2
        first = [EMPTY] * size * size + [SELECT, -1]
        for cell in (near, edge - near, near * size, near * size + edge):
            first[cell], first[size * size - 1 - cell] = 2, 1
        super().__init__(
            {_SIDE: size},
            (1, 0, *first),
            board=_SIZE,
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
        kinds = list(view.kinds)
        for action in view.clicks:
            kinds[action] = "arrow" if state[-2] == SHOOT else "queen"
        return dataclasses.replace(view, kinds=tuple(kinds))
