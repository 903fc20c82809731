"""Othello. Actions are the cells, row by row, and size² is a pass, as in OpenSpiel.

The game ends when neither player can move. With passes=false it ends as soon as the player to move
cannot, an older rule. The player with more discs wins.

Boards up to 8x8 are words of bits, larger ones arrays of cells: see `games.discs.layout`.
"""

from __future__ import annotations

import functools
from typing import ClassVar

import numpy as np

from games import (
    Board,
    BoardView,
    KernelGame,
    Kernels,
    SpecError,
    State,
    Symmetry,
    Vector,
    checked,
    helper,
    kernel,
    square_name,
)
from games.core.bits import count, lowest, nth
from games.core.random import GAMMA, Rng, below
from games.core.symmetries import of_placements
from games.discs.cells import list_moves, place_of, play_cells, playout_cells
from games.discs.layout import CELLS, MAX_SIDE, PASSES, SIZE, SMALL, STRIDE, winner
from games.discs.lines import flips, mobility

_0, _1 = np.uint64(0), np.uint64(1)


@helper
def bit_of(cell: int, size: int) -> int:
    """Return the number of the bit of a cell."""
    return cell if size == 8 else cell // size * 8 + cell % size


@helper
def set_outcome(board: Board) -> None:
    """Set the outcome of a board if the game is over."""
    own, other = np.uint64(board[1 + board[0]]), np.uint64(board[4 - board[0]])
    cells = np.uint64(board[CELLS])
    if mobility(own, other, cells):
        return
    if not board[PASSES] or not mobility(other, own, cells):
        board[1] = winner(count(board[2]) - count(board[3]))


@kernel
def start(board: Board, params: Vector) -> None:
    size = params[0]
    board[:] = 0
    board[0] = 1
    board[SIZE] = size
    board[PASSES] = params[1]
    low = size // 2 - 1
    if size > SMALL:
        middle = place_of(low * size + low, size)
        board[middle] = board[middle + STRIDE + 1] = 2
        board[middle + 1] = board[middle + STRIDE] = 1
        return
    cells = _0
    for row in range(size):
        for column in range(size):
            cells |= _1 << np.uint64(8 * row + column)
    board[CELLS] = np.int64(cells)
    board[2] = 1 << (8 * low + low + 1) | 1 << (8 * (low + 1) + low)
    board[3] = 1 << (8 * low + low) | 1 << (8 * (low + 1) + low + 1)


@kernel
def legal(board: Board, actions: Vector) -> int:
    if board[1]:
        return 0
    size = board[SIZE]
    n = 0
    if size > SMALL:
        n = list_moves(board, actions, 0)
    else:
        own, other = np.uint64(board[1 + board[0]]), np.uint64(board[4 - board[0]])
        moves = mobility(own, other, np.uint64(board[CELLS]))
        while moves:
            bit = lowest(moves)
            moves &= moves - _1
            actions[n] = (bit >> 3) * size + (bit & 7)
            n += 1
    if n == 0:
        actions[0] = size * size
        n = 1
    return n


@kernel
def play(board: Board, action: int) -> None:
    player = board[0]
    size = board[SIZE]
    if size > SMALL:
        play_cells(board, action)
        return
    board[0] = 3 - player
    if action == size * size:
        return
    own, other = np.uint64(board[1 + player]), np.uint64(board[4 - player])
    disc = _1 << np.uint64(bit_of(action, size))
    turned = flips(disc, own, other)
    board[1 + player] = np.int64(own | disc | turned)
    board[4 - player] = np.int64(other & ~turned)
    set_outcome(board)


@kernel
def playout(board: Board, rng: Rng, trace: Vector) -> int:
    if board[1]:
        return 0
    player, size = board[0], board[SIZE]
    if size > SMALL:
        return playout_cells(board, rng, trace)
    own, other = np.uint64(board[1 + player]), np.uint64(board[4 - player])
    cells = np.uint64(board[CELLS])
    state = rng[0]
    ply = 0
    moves = mobility(own, other, cells)
    while True:
        if moves:
            state += GAMMA
            bit = nth(moves, below(state, count(moves)))
            disc = _1 << np.uint64(bit)
            trace[ply] = (bit >> 3) * size + (bit & 7)
            turned = flips(disc, own, other)
            own |= disc | turned
            other &= ~turned
        else:
            trace[ply] = size * size
        ply += 1
        own, other = other, own
        player = 3 - player
        moves = mobility(own, other, cells)
        if not moves and (not board[PASSES] or not mobility(other, own, cells)):
            break
    rng[0] = state
    board[0] = player
    board[1 + player], board[4 - player] = np.int64(own), np.int64(other)
    board[1] = winner(count(board[2]) - count(board[3]))
    return ply


@kernel
def write(board: Board, state: Vector) -> None:
    state[:2] = board[:2]
    size = board[SIZE]
    for cell in range(size * size):
        if size > SMALL:
            state[2 + cell] = board[place_of(cell, size)]
        else:
            bit = bit_of(cell, size)
            state[2 + cell] = (board[2] >> bit & 1) + 2 * (board[3] >> bit & 1)


@kernel
def read(state: Vector, board: Board) -> None:
    board[:2] = state[:2]
    board[2] = board[3] = 0
    size = board[SIZE]
    for cell in range(size * size):
        owner = state[2 + cell] if 1 <= state[2 + cell] <= 2 else 0
        if size > SMALL:
            board[place_of(cell, size)] = owner
        elif owner:
            board[1 + owner] |= 1 << bit_of(cell, size)


class Othello(KernelGame):
    """Enclose the opponent's discs to turn them; the player with more at the end wins."""

    about = (
        "A disc must be put where it encloses discs of the opponent in a straight line, in any of "
        "the eight directions, between itself and another disc of its own colour; all enclosed "
        "discs change sides. A player who cannot do so passes. When neither player can, the game "
        "is over, and the player with more discs wins."
    )
    about_parameters: ClassVar = {
        "size": f"rows and columns of the board, an even number from 4 to {MAX_SIDE}",
        "passes": "false: the game is over as soon as a player cannot move",
    }
    first_steps = (
        "Click one of the marked cells. You win with more discs when neither player can move. A "
        "disc in a corner can never be turned, so take corners, and avoid the cells next to an "
        "empty one. Until late in a match, many possible moves are worth more than many discs."
    )
    variants: ClassVar = {
        "size=6": "A short match.",
        "size=10": "A longer match on the board of Grand Othello.",
        "passes=false": "The game is over as soon as a player cannot move.",
    }

    kernels = Kernels(start, legal, play, playout, write, read)

    def __init__(self, size: int = 8, passes: bool = True) -> None:
        if checked("othello", "size", size, 4, MAX_SIDE) % 2:
            raise SpecError(f"othello: size is an even number from 4 to {MAX_SIDE}, not {size}")
        self.size = size
        cells = size * size
        # There is a move between two passes: two passes in a row would have ended the game.
        plies = 2 * (cells - 4)
        super().__init__(
            (size, int(passes)),
            board=7 if size <= SMALL else 7 + STRIDE**2,
            state=2 + cells,
            actions=cells + 1,
            plies=plies,
        )

    @functools.cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        return of_placements(self.size, self.size, range(self.size**2), passes=1)

    def action_name(self, state: State, action: int) -> str:
        if action == self.size**2:
            return "pass"
        return square_name(*divmod(action, self.size))

    def view(self, state: State) -> BoardView:
        actions = self.legal_actions(state)
        clicks = {a: (a,) if a < self.size**2 else () for a in actions}
        discs = [state[2:].count(player) for player in (1, 2)]
        note = f"discs {discs[0]}-{discs[1]}" + (", pass" if () in clicks.values() else "")
        return BoardView(
            self.size, self.size, state[2:], clicks, piece="disc", surface="green", note=note
        )
