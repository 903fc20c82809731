"""Ataxx: pieces multiply or jump, and capture all pieces around the cell to which they move.

Action from * size² + to is a jump, to * size² + to puts a new piece beside another one of the
player, and size⁴ is a pass. Moves are written as in UAI, the Universal Ataxx Interface: g2, g1e3.
"""

from __future__ import annotations

import functools
from typing import Annotated, ClassVar

import numpy as np

from playout.games import Board, GridGame, Kernels, Option, State, Vector, helper, kernel
from playout.games.core.bits import (
    bit_of,
    cell_of,
    count,
    grid,
    lowest,
    nth,
    read_owners,
    spread,
    write_owners,
)
from playout.games.core.kernels import outcome_of, uncompiled
from playout.games.core.random import GAMMA, Rng, below

# board: player, outcome, pieces of player 1, pieces of player 2, size, plies since the last new
# piece, the cells in play. Pieces are the bits of a word, eight per row for every size: cell (row,
# column) is bit 8 * row + column. Words are stored as int64 and processed as uint64.
_SIZE, _QUIET, _CELLS = 4, 5, 6

MAX_SIDE = 8
#: Plies without a new piece that make a tie.
QUIET_PLIES = 100

_0, _1 = np.uint64(0), np.uint64(1)


@helper
def jumps(piece: np.uint64, empty: np.uint64) -> np.uint64:
    """Return the empty cells to which a piece can jump: those two steps away."""
    beside = spread(piece)
    return spread(beside) & ~beside & empty


@helper
def sides(board: Board) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Return the pieces of the player to move, those of the opponent, and the empty cells."""
    own, other = np.uint64(board[1 + board[0]]), np.uint64(board[4 - board[0]])
    return own, other, np.uint64(board[_CELLS]) & ~(own | other)


@helper
def set_outcome(board: Board) -> None:
    """Set the outcome if the game is over."""
    own, other, empty = sides(board)
    first, second = count(board[2]), count(board[3])
    if own and other and (spread(spread(own | other)) & empty):
        if board[_QUIET] >= QUIET_PLIES:
            board[1] = -1
    else:
        board[1] = outcome_of(first - second)


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    size = board[_SIZE]
    cells = size * size
    own, _, empty = sides(board)
    beside = spread(own)
    n = 0
    for cell in range(cells):
        bit = _1 << np.uint64(bit_of(cell, size))
        if empty & beside & bit:
            actions[n] = cell * cells + cell
            n += 1
        elif own & bit:
            targets = jumps(bit, empty)
            while targets:
                actions[n] = cell * cells + cell_of(lowest(targets), size)
                targets &= targets - _1
                n += 1
    if n == 0:
        actions[0] = cells * cells
        n = 1
    return n


@helper
def move(board: Board, begin: int, target: int) -> None:
    """Move between two bits, the same one for a new piece, and change the player to move."""
    player = board[0]
    own, other, _ = sides(board)
    to = _1 << np.uint64(target)
    captured = spread(to) & other
    own |= to | captured
    board[_QUIET] = board[_QUIET] + 1 if begin != target else 0
    if begin != target:
        own &= ~(_1 << np.uint64(begin))
    board[1 + player] = np.int64(own)
    board[4 - player] = np.int64(other & ~captured)
    board[0] = 3 - player


@kernel
def play(board: Board, action: int) -> None:
    size = board[_SIZE]
    cells = size * size
    if action == cells * cells:
        board[0] = 3 - board[0]
        board[_QUIET] += 1
    else:
        move(board, bit_of(action // cells, size), bit_of(action % cells, size))
    set_outcome(board)


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    size = board[_SIZE]
    cells = size * size
    ply = 0
    state = rng[0]
    while board[1] == 0:
        own, _, empty = sides(board)
        new = spread(own) & empty
        n = count(new)
        rest = own
        while rest:
            n += count(jumps(rest & (_0 - rest), empty))
            rest &= rest - _1
        if n == 0:
            trace[ply] = cells * cells
            board[0] = 3 - board[0]
            board[_QUIET] += 1
        else:
            state += GAMMA
            pick = below(state, n)
            if pick < count(new):
                begin = target = nth(new, pick)
            else:
                pick -= count(new)
                rest = own
                targets = jumps(rest & (_0 - rest), empty)
                while pick >= count(targets):
                    pick -= count(targets)
                    rest &= rest - _1
                    targets = jumps(rest & (_0 - rest), empty)
                begin, target = lowest(rest), nth(targets, pick)
            trace[ply] = cell_of(begin, size) * cells + cell_of(target, size)
            move(board, begin, target)
        ply += 1
        set_outcome(board)
    rng[0] = state
    return ply


@kernel
def write(board: Board, state: Vector) -> None:
    state[:2] = board[:2]
    write_owners(board[2], board[3], board[_SIZE], 8, state[2:-1])
    state[-1] = board[_QUIET]


@kernel
def read(state: Vector, board: Board) -> None:
    board[:2] = state[:2]
    board[2], board[3] = read_owners(state[2:-1], board[_SIZE], 8)
    board[_QUIET] = min(max(0, state[-1]), QUIET_PLIES)


class Ataxx(GridGame):
    """Put a piece beside one of yours or jump, and capture all around it; the majority wins."""

    about = (
        "In turn, a player puts a new piece onto an empty cell beside one of their pieces, in any "
        "of the eight directions, or moves one of their pieces to an empty cell two steps away. "
        "All pieces of the opponent beside that cell change sides. A player who can do neither "
        "passes. The game is over when the board is full, when neither player can move, or when a "
        "player has no pieces left, and the player with more pieces wins. "
        f"{QUIET_PLIES} moves in a row without a new piece are a tie."
    )
    groups = ("territory",)
    first_steps = (
        "Click an empty cell beside one of your pieces to put a new one, or click a piece and "
        "then a cell two steps away to jump. New pieces count, so jump only to capture "
        "several pieces. Fill gaps that the opponent could use."
    )
    variants: ClassVar = {
        "size=5": "A short match.",
    }

    look: ClassVar = {"piece": "disc"}
    upward = True
    pass_name = "pass"
    puts_stones = True

    kernels = Kernels(legal, play, playout, write, read)

    def __init__(
        self, size: Annotated[int, Option("rows and columns of the board", ge=3, le=MAX_SIDE)] = 7
    ) -> None:
        self.rows = self.columns = size
        cells = size * size
        # Pieces are never removed, so all but four cells can get a new piece.
        first = [0] * cells
        first[0] = first[-1] = 1
        first[size - 1] = first[-size] = 2
        super().__init__(
            {_SIZE: size, _CELLS: uncompiled(grid)(size, size)},
            (1, 0, *first),
            board=7,
            state=3 + cells,
            actions=cells * cells + 1,
            plies=QUIET_PLIES * (cells - 3),
        )

    @functools.cached_property
    def action_cells(self) -> tuple[tuple[int, ...], ...]:
        """For each action the cells from which and to which it leads; one cell for a new piece."""
        cells = range(self.rows * self.columns)
        moves = (((begin, to) if begin != to else (to,)) for begin in cells for to in cells)
        return (*moves, ())

    def note(self, state: State) -> str:
        pieces, quiet = self.cells(state), state[-1]
        late = f", {quiet} of {QUIET_PLIES} moves without a new piece"
        counted = f"pieces {pieces.count(1)}-{pieces.count(2)}"
        return counted + (late if quiet >= QUIET_PLIES // 2 else "")
